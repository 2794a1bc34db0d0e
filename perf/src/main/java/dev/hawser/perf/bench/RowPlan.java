/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;

/**
 * One row to measure, one direction.
 *
 * @param op the direction
 * @param shape what one request moves
 * @param threads threads that post
 * @param depth requests that each of them keeps under way
 * @param slots different requests; memory of {@code slots} requests is used on both sides, each slot by one thread
 * @param verify how the bytes are compared
 * @param requestsPerSecond of all threads together; 0: as fast as they end
 * @param completion which thread sees a request through
 * @param timeout of one request
 */
record RowPlan(Op op, RequestShape shape, int threads, int depth, int slots, Verify verify, double requestsPerSecond,
    Completion completion, Duration timeout) {
  /** Memory that a row goes through, unless one round of requests is larger. */
  static final long WINDOW_BYTES = 256L << 20;
  /** Enough to be out of step with everything, few enough to prepare quickly. */
  static final int MAX_SLOTS = 4096;
  private static final int MAX_BLOCKS = 1 << 22;

  RowPlan {
    if (threads < 1 || depth < 1 || slots < threads * depth || slots % threads != 0) {
      throw new IllegalArgumentException(slots + " slots for " + threads + " threads and depth " + depth);
    }
  }

  /**
   * How many slots a row gets.
   *
   * @param iterations requests that will be asked for at least; 0: not limited
   * @param windowBytes memory to go through, unless one round of requests is larger
   */
  static int slotsFor(RequestShape shape, int threads, int depth, long iterations, long windowBytes) {
    long most = Math.min(MAX_SLOTS, Math.min(windowBytes / shape.requestBytes(), MAX_BLOCKS / shape.batch()));
    if (iterations > 0) {
      most = Math.min(most, iterations);
    }
    long least = (long) threads * depth;
    return Math.toIntExact(Math.max(least, most / threads * threads));
  }

  long windowBytes() {
    return Math.multiplyExact(slots, shape.requestBytes());
  }

  int slotsPerThread() {
    return slots / threads;
  }

  void writeTo(Message message) {
    message.put("op", op.name()).put("block", shape.blockBytes()).put("batch", shape.batch()).put("threads", threads)
        .put("depth", depth).put("slots", slots).put("verify", verify.name())
        .put("rate", Double.toString(requestsPerSecond)).put("completion", completion.name())
        .put("timeout", timeout.toNanos());
  }

  static RowPlan readFrom(Message message) {
    return new RowPlan(Op.valueOf(message.text("op")),
        new RequestShape(message.number("block"), Math.toIntExact(message.number("batch"))),
        Math.toIntExact(message.number("threads")), Math.toIntExact(message.number("depth")),
        Math.toIntExact(message.number("slots")), Verify.valueOf(message.text("verify")),
        Double.parseDouble(message.text("rate")), Completion.valueOf(message.text("completion")),
        Duration.ofNanos(message.number("timeout")));
  }
}
