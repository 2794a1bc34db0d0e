/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel's copy between two processes gives to a C program: the measure for shm on memory
 * that cannot be mapped. A child holds the remote memory; the parent copies with process_vm_writev or
 * process_vm_readv through windows of it, as many iovecs in a call as the kernel takes.
 *
 *   cc -O2 -o process_vm process_vm.c
 *   ./process_vm read|write REQUEST_BYTES BLOCK_BYTES ITERATIONS [MEMORY_BYTES]
 *
 * Prints one line of JSON; gbytes_per_s counts elapsed time, cpu_gbytes_per_s the thread's own. Linux only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_IOV 1024

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static char *memory(size_t bytes) {
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (p == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  memset(p, 1, bytes);
  return p;
}

/* One request: its blocks are contiguous, or every second one, so that none can be joined. */
static int request(pid_t pid, int write, char *local, char *remote, size_t bytes, size_t block) {
  static struct iovec here[MAX_IOV], there[MAX_IOV];
  size_t stride = block == bytes ? block : 2 * block;
  size_t done = 0, at = 0;
  while (done < bytes) {
    int n = 0;
    size_t expected = 0;
    while (n < MAX_IOV && done + expected < bytes) {
      here[n].iov_base = local + at;
      there[n].iov_base = remote + at;
      here[n].iov_len = there[n].iov_len = block;
      at += stride;
      expected += block;
      n++;
    }
    ssize_t moved = write ? process_vm_writev(pid, here, n, there, n, 0) : process_vm_readv(pid, here, n, there, n, 0);
    if (moved < 0 || (size_t)moved != expected) {
      fprintf(stderr, "process_vm: %s after %zu of %zu bytes\n", strerror(errno), done, bytes);
      return -1;
    }
    done += expected;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 5 || (strcmp(argv[1], "read") && strcmp(argv[1], "write"))) {
    fprintf(stderr, "usage: %s read|write REQUEST_BYTES BLOCK_BYTES ITERATIONS [MEMORY_BYTES]\n", argv[0]);
    return 2;
  }
  int write_op = !strcmp(argv[1], "write");
  size_t bytes = strtoull(argv[2], NULL, 10);
  size_t block = strtoull(argv[3], NULL, 10);
  long iterations = strtol(argv[4], NULL, 10);
  size_t memory_bytes = argc > 5 ? strtoull(argv[5], NULL, 10) : 256UL << 20;
  size_t span = block == bytes ? bytes : 2 * bytes;
  if (bytes == 0 || block == 0 || bytes % block || iterations < 1 || span > memory_bytes) {
    fprintf(stderr, "%s: REQUEST_BYTES must be a multiple of BLOCK_BYTES and fit into MEMORY_BYTES\n", argv[0]);
    return 2;
  }
  int address_pipe[2], end_pipe[2];
  if (pipe(address_pipe) || pipe(end_pipe)) {
    perror("pipe");
    return 1;
  }
  pid_t child = fork();
  if (child < 0) {
    perror("fork");
    return 1;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(end_pipe[1]);
    char *remote = memory(memory_bytes);
    char byte;
    if (write(address_pipe[1], &remote, sizeof remote) != sizeof remote || read(end_pipe[0], &byte, 1) != 0) {
      _exit(1);
    }
    _exit(0);
  }
  char *local = memory(memory_bytes);
  char *remote;
  if (read(address_pipe[0], &remote, sizeof remote) != sizeof remote) {
    perror("read");
    return 1;
  }
  size_t windows = memory_bytes / span;
  for (size_t i = 0; i < windows; i++) {
    if (request(child, write_op, local + i * span, remote + i * span, bytes, block)) {
      return 1;
    }
  }
  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < iterations; i++) {
    size_t offset = i % windows * span;
    if (request(child, write_op, local + offset, remote + offset, bytes, block)) {
      return 1;
    }
  }
  wall = seconds(CLOCK_MONOTONIC) - wall;
  cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
  double moved = (double)bytes * iterations * 1e-9;
  printf(
      "{\"name\":\"process_vm\",\"op\":\"%s\",\"request_bytes\":%zu,\"block_bytes\":%zu,\"requests\":%ld,"
      "\"seconds\":%.6f,\"gbytes_per_s\":%.3f,\"cpu_gbytes_per_s\":%.3f}\n",
      argv[1], bytes, block, iterations, wall, moved / wall, moved / cpu);
  close(end_pipe[1]);
  waitpid(child, NULL, 0);
  return 0;
}
