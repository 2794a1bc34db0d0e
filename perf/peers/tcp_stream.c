/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

// What one TCP socket gives on this machine: a sender and a receiver process move requests of a fixed size through
// memory of a fixed size, both walking through it from the start to the end and again, as `hawser bench` does.
//
//   gcc -O2 -Wall -o tcp_stream tcp_stream.c && ./tcp_stream [REQUEST_BYTES [MEMORY_BYTES [SECONDS [BLOCK_BYTES [DEPTH]]]]]
//
// REQUEST_BYTES  default 1048576
// MEMORY_BYTES   default 268435456, on each side
// SECONDS        default 2
// BLOCK_BYTES    default 0: a request is contiguous; else it is blocks of so many bytes, every other one of the memory,
//                sent by writev and received by readv
// DEPTH          default 0: the receiver says nothing until the end; else it acknowledges each request with one byte,
//                and so many requests are under way at most
//
// Prints one line: request_bytes block_bytes depth gbytes_per_s cpu_ns_per_byte (of both processes)

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BLOCKS 1024

static size_t request = 1 << 20, memory = 256 << 20, block = 0;
static long depth = 0;
static double seconds = 2;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval t) {
  return t.tv_sec + t.tv_usec * 1e-6;
}

// Of this process and of its children that have ended.
static double cpu(void) {
  struct rusage own, ended;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &ended);
  return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(ended.ru_utime) + seconds_of(ended.ru_stime);
}

static char *map(void) {
  char *p = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (p == MAP_FAILED) die("mmap");
  memset(p, 1, memory);
  return p;
}

// The places of the next request; returns their number.
static int places(char *base, size_t *at, struct iovec *iov) {
  size_t step = block ? 2 * block : request;
  size_t span = block ? 2 * request : request;
  if (*at + span > memory) *at = 0;
  int n = block ? (int)(request / block) : 1;
  for (int i = 0; i < n; i++) iov[i] = (struct iovec){base + *at + i * step, block ? block : request};
  *at += span;
  return n;
}

static int move(int fd, struct iovec *iov, int n, int out) {
  while (n > 0) {
    ssize_t moved = out ? writev(fd, iov, n) : readv(fd, iov, n);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return -1;
    while (n > 0 && (size_t)moved >= iov->iov_len) {
      moved -= iov->iov_len;
      iov++;
      n--;
    }
    if (n > 0) {
      iov->iov_base = (char *)iov->iov_base + moved;
      iov->iov_len -= moved;
    }
  }
  return 0;
}

static void receive(int fd) {
  char *base = map();
  size_t at = 0;
  struct iovec iov[MAX_BLOCKS];
  char ack = 1;
  if (write(fd, &ack, 1) != 1) die("write"); // the memory is there
  while (move(fd, iov, places(base, &at, iov), 0) == 0)
    if (depth && write(fd, &ack, 1) != 1) die("write");
}

static void acks(int fd, long *under_way, long most) {
  char buffer[4096];
  while (*under_way > most) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) die("read");
    *under_way -= n;
  }
}

int main(int argc, char **argv) {
  if (argc > 1) request = strtoull(argv[1], NULL, 0);
  if (argc > 2) memory = strtoull(argv[2], NULL, 0);
  if (argc > 3) seconds = atof(argv[3]);
  if (argc > 4) block = strtoull(argv[4], NULL, 0);
  if (argc > 5) depth = atol(argv[5]);
  if (request == 0 || request > memory / 2 || (block && (request % block || request / block > MAX_BLOCKS))) {
    fprintf(stderr, "tcp_stream: a request is 1 byte to half the memory, and at most %d whole blocks\n", MAX_BLOCKS);
    return 2;
  }
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1)) die("listen");
  getsockname(listener, (struct sockaddr *)&address, &length);
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) die("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    receive(fd);
    return 0;
  }
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, length)) die("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  char *base = map();
  char ready;
  if (read(fd, &ready, 1) != 1) die("read");
  size_t at = 0;
  struct iovec iov[MAX_BLOCKS];
  long under_way = 0, requests = 0;
  double cpu_start = cpu(), start = now();
  do {
    if (move(fd, iov, places(base, &at, iov), 1)) die("writev");
    requests++;
    if (depth) {
      under_way++;
      acks(fd, &under_way, depth - 1);
    }
  } while (now() - start < seconds);
  shutdown(fd, SHUT_WR);
  char rest[4096];
  ssize_t n;
  while ((n = read(fd, rest, sizeof rest)) > 0) continue; // the receiver closes behind the last byte
  if (n < 0) die("read");
  double took = now() - start;
  waitpid(child, NULL, 0);
  double bytes = requests * (double)request;
  printf("%zu %zu %ld %.3f %.3f\n", request, block, depth, bytes / took / 1e9, (cpu() - cpu_start) / bytes * 1e9);
  return 0;
}
