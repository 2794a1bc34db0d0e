/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The round trip of a blocking ping-pong over one TCP connection on loopback, between two processes: the least that a
 * request with an acknowledgement can take through sockets.
 *
 *   pingpong BYTES SECONDS
 *
 * The ping has BYTES, the pong one byte, as a write and its acknowledgement. Prints one JSON object, microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_SAMPLES (1u << 22)

static void fail(const char *what) {
  fprintf(stderr, "pingpong: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int receive(int fd, char *buffer, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = recv(fd, buffer + done, bytes - done, 0);
    if (n == 0) return 0;
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("recv");
    }
    done += (size_t)n;
  }
  return 1;
}

static void transmit(int fd, const char *buffer, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = send(fd, buffer + done, bytes - done, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      fail("send");
    }
    done += (size_t)n;
  }
}

static void no_delay(int fd) {
  int one = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) fail("TCP_NODELAY");
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  size_t bytes = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
  double seconds = argc == 3 ? atof(argv[2]) : 0;
  if (bytes == 0 || !(seconds > 0)) {
    fprintf(stderr, "usage: pingpong BYTES SECONDS\n");
    return 2;
  }
  char *buffer = calloc(1, bytes);
  uint32_t *samples = malloc(MAX_SAMPLES * sizeof *samples);
  if (buffer == NULL || samples == NULL) fail("malloc");

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0
      || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    fail("listen");

  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) fail("accept");
    no_delay(fd);
    while (receive(fd, buffer, bytes)) transmit(fd, "k", 1);
    _exit(0);
  }
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) != 0) fail("connect");
  no_delay(fd);

  char pong;
  size_t count = 0;
  uint64_t t = now(), warm = t + (uint64_t)(seconds * 1e8), end = t + (uint64_t)(seconds * 1.1e9);
  while (t < end && count < MAX_SAMPLES) {
    transmit(fd, buffer, bytes);
    if (!receive(fd, &pong, 1)) fail("the other process is gone");
    uint64_t seen = now();
    if (t >= warm) samples[count++] = (uint32_t)(seen - t);
    t = seen;
  }
  close(fd);
  waitpid(child, NULL, 0);
  if (count == 0) {
    fprintf(stderr, "pingpong: no round trip in the time given\n");
    return 1;
  }
  qsort(samples, count, sizeof *samples, compare);
  printf("{\"requests\":%zu,\"latency_us\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}}\n", count,
         samples[count / 2] / 1e3, samples[count * 9 / 10] / 1e3, samples[count * 99 / 100] / 1e3,
         samples[count - 1] / 1e3);
  return 0;
}
