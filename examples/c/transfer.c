/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/*
 * Two agents in one C program: one pulls blocks in another order from the other, and says so behind the data.
 *
 *   gcc -std=c11 -I../../include -I$JAVA_HOME/include -I$JAVA_HOME/include/linux transfer.c -o transfer -ldl
 *   ./transfer $JAVA_HOME JAR:JAR:...
 *
 * Two processes do the same: they exchange the blobs of agent_metadata (or name a metadata service in the settings).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hawser_jvm.h"

#define BLOCK 4096
#define BLOCKS 1024
#define SECOND 1000000000LL

static const hawser_api *hawser;

/* Ends the program with the reason if a call failed. */
static int64_t checked(int64_t result, const char *what) {
  if (result < 0) {
    char reason[4096] = ""; // stays so if the text is longer
    hawser->last_error(reason, sizeof reason);
    fprintf(stderr, "%s: error %lld: %s\n", what, (long long)result, reason);
    exit(1);
  }
  return result;
}

static void fill(uint8_t *pool, int iteration) {
  for (int block = 0; block < BLOCKS; block++) {
    for (int at = 0; at < BLOCK; at++) {
      pool[(size_t)block * BLOCK + at] = (uint8_t)(block * 31 + at * 7 + iteration);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s JAVA_HOME CLASS_PATH\n", argv[0]);
    return 2;
  }
  char error[512];
  hawser = hawser_open(argv[1], argv[2], error, sizeof error);
  if (hawser == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }

  hawser_handle prefill, decode;
  checked(hawser->agent_start("prefill", NULL, &prefill), "starting prefill");
  checked(hawser->agent_start("decode", "transfer-timeout=10s\n", &decode), "starting decode");

  /* Prefill's memory is the program's own, decode's is Hawser's. */
  uint8_t *theirs = aligned_alloc(4096, (size_t)BLOCK * BLOCKS);
  hawser_handle their_region, our_region;
  checked(hawser->region_register(prefill, "kv", (uint64_t)(uintptr_t)theirs, (int64_t)BLOCK * BLOCKS,
                                  HAWSER_DEVICE_HOST, HAWSER_REMOTE_READ, &their_region),
          "registering prefill's pool");
  checked(hawser->region_allocate(decode, "kv", (int64_t)BLOCK * BLOCKS, HAWSER_REMOTE_WRITE, &our_region),
          "allocating decode's pool");
  hawser_region ours = {.struct_bytes = sizeof ours};
  checked(hawser->region_describe(our_region, &ours), "describing decode's pool");

  /* What prefill tells of itself, carried by hand. */
  int64_t size = checked(hawser->agent_metadata(prefill, 1, NULL, 0, NULL, 0), "sizing prefill's metadata");
  void *blob = malloc((size_t)size);
  checked(hawser->agent_metadata(prefill, 1, NULL, 0, blob, size), "prefill's metadata");
  hawser_handle peer;
  checked(hawser->peer_add(decode, blob, size, &peer), "adding prefill");
  hawser_region remote = {.struct_bytes = sizeof remote};
  checked(hawser->peer_region(peer, "kv", &remote), "prefill's pool");

  int64_t shape = BLOCKS, stride = BLOCK;
  hawser_handle local_blocks, remote_blocks;
  checked(hawser->blocks_strided(ours.address, 1, &shape, &stride, BLOCK, HAWSER_DEVICE_HOST, &local_blocks),
          "local blocks");
  checked(hawser->blocks_strided(remote.address, 1, &shape, &stride, BLOCK, remote.device, &remote_blocks),
          "remote blocks");

  /* Decode's block i gets prefill's block order[i]. */
  int32_t order[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    order[i] = (int32_t)((i * 389L + 17) % BLOCKS);
  }
  hawser_request request = {
      .struct_bytes = sizeof request,
      .operation = HAWSER_READ,
      .peer = peer,
      .local = local_blocks,
      .remote = remote_blocks,
      .remote_indices = order,
      .remote_count = BLOCKS,
      .remote_index_bytes = sizeof order[0],
  };
  hawser_options options = {
      .struct_bytes = sizeof options,
      .notification = "got it",
      .notification_bytes = 6,
      .request_id = "request-17",
  };
  hawser_handle pull;
  checked(hawser->transfer_prepare(decode, &request, &options, &pull), "preparing the pull");

  for (int iteration = 0; iteration < 3; iteration++) {
    fill(theirs, iteration);
    checked(hawser->transfer_post(pull, NULL), "posting the pull");
    int64_t state = checked(hawser->transfer_wait(pull, 10 * SECOND), "waiting for the pull");
    if (state != HAWSER_STATE_DONE) {
      char reason[4096] = ""; // stays so if the text is longer
      hawser->transfer_message(pull, reason, sizeof reason);
      fprintf(stderr, "the pull ended in state %lld: %s\n", (long long)state, reason);
      return 1;
    }
    const uint8_t *pool = (const uint8_t *)(uintptr_t)ours.address;
    for (int block = 0; block < BLOCKS; block++) {
      if (memcmp(pool + (size_t)block * BLOCK, theirs + (size_t)order[block] * BLOCK, BLOCK) != 0) {
        fprintf(stderr, "block %d differs\n", block);
        return 1;
      }
    }
    hawser_notification notification = {.struct_bytes = sizeof notification};
    if (checked(hawser->notification_next(prefill, 10 * SECOND, &notification), "the notification") != 1 ||
        notification.payload_bytes != 6 || memcmp(notification.payload, "got it", 6) != 0 ||
        strcmp(notification.peer, "decode") != 0 || strcmp(notification.request_id, "request-17") != 0) {
      fprintf(stderr, "the notification did not come, or is another one\n");
      return 1;
    }
  }
  hawser_transfer facts = {.struct_bytes = sizeof facts};
  checked(hawser->transfer_describe(pull, &facts), "describing the pull");
  printf("%d blocks of %d bytes, %lld bytes in %lld us, verified\n", BLOCKS, BLOCK, (long long)facts.total_bytes,
         (long long)(facts.elapsed / 1000));

  /* What is wrong is said. */
  if (hawser->transfer_poll(12345) != HAWSER_ERROR_HANDLE) {
    fprintf(stderr, "a handle that is none was taken\n");
    return 1;
  }
  checked(hawser->release(pull), "releasing the pull");
  if (hawser->transfer_post(pull, NULL) != HAWSER_ERROR_HANDLE) {
    fprintf(stderr, "a released transfer was posted\n");
    return 1;
  }
  order[BLOCKS - 1] = BLOCKS;
  if (hawser->transfer_start(decode, &request, NULL, &pull) != HAWSER_ERROR_ARGUMENT) {
    fprintf(stderr, "an index out of bounds was taken\n");
    return 1;
  }
  char reason[4096] = ""; // stays so if the text is longer
  hawser->last_error(reason, sizeof reason);
  printf("refused: %s\n", reason);

  checked(hawser->agent_close(decode), "closing decode");
  checked(hawser->agent_close(prefill), "closing prefill");
  free(blob);
  free(theirs);
  return 0;
}
