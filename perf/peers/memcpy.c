/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread copies between two mapped buffers: the most that shared memory can give.
 *
 *   memcpy REQUEST_BYTES BLOCK_BYTES WINDOW_BYTES SECONDS
 *
 * Both buffers are memfds of WINDOW_BYTES, populated. A request is REQUEST_BYTES / BLOCK_BYTES blocks; the blocks of
 * the window are in a shuffled order on both sides when there is more than one to a request. Requests go on to the
 * next part of the window. Prints one JSON object.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "memcpy: %s: %s\n", what, strerror(errno));
  exit(1);
}

static char *map(size_t bytes) {
  int fd = memfd_create("memcpy", MFD_CLOEXEC);
  if (fd < 0) fail("memfd_create");
  if (ftruncate(fd, (off_t)bytes) != 0) fail("ftruncate");
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (p == MAP_FAILED) fail("mmap");
  memset(p, 1, bytes);
  return p;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static uint32_t *order(size_t n, int shuffled, uint64_t seed) {
  uint32_t *index = malloc(n * sizeof *index);
  if (index == NULL) fail("malloc");
  for (size_t i = 0; i < n; i++) index[i] = (uint32_t)i;
  for (size_t i = n; shuffled && i > 1; i--) {
    size_t j = next(&seed) % i;
    uint32_t t = index[i - 1];
    index[i - 1] = index[j];
    index[j] = t;
  }
  return index;
}

static size_t number(const char *text) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno != 0 || *end != 0 || value == 0) {
    fprintf(stderr, "memcpy: '%s' is not a positive number\n", text);
    exit(2);
  }
  return (size_t)value;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: memcpy REQUEST_BYTES BLOCK_BYTES WINDOW_BYTES SECONDS\n");
    return 2;
  }
  size_t request = number(argv[1]), block = number(argv[2]), window = number(argv[3]);
  double seconds = atof(argv[4]);
  size_t batch = request / block;
  size_t requests = window / request;
  if (batch == 0 || batch * block != request || requests == 0 || !(seconds > 0)) {
    fprintf(stderr, "memcpy: a request must be whole blocks and fit the window, and the time be positive\n");
    return 2;
  }
  char *from = map(window), *to = map(window);
  uint32_t *from_order = order(requests * batch, batch > 1, 1), *to_order = order(requests * batch, batch > 1, 2);

  uint64_t done = 0, start = now(), end = start + (uint64_t)(seconds * 1e9), t = start;
  while (t < end) {
    size_t slot = (size_t)(done % requests) * batch;
    for (size_t i = slot; i < slot + batch; i++)
      memcpy(to + (size_t)to_order[i] * block, from + (size_t)from_order[i] * block, block);
    __asm__ volatile("" ::: "memory");
    done++;
    t = now();
  }
  double elapsed = (double)(t - start) / 1e9;
  printf("{\"requests\":%llu,\"seconds\":%.6f,\"gbytes_per_s\":%.4f}\n", (unsigned long long)done, elapsed,
         (double)done * (double)request / elapsed / 1e9);
  return 0;
}
