/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;
import java.util.List;

/**
 * What a bench between two nodes measures.
 *
 * @param transports their names; empty: each that works at both nodes
 * @param ops directions, one after the other
 * @param bidirectional whether the target does the same at the same time
 * @param initiatorMemory where the initiator's bytes lie
 * @param targetMemory where the target's bytes lie
 * @param shapes requests, one row each
 * @param threads threads that post
 * @param depth requests that each keeps under way; 0: by the size, see {@link #depthFor}
 * @param requestsPerSecond 0: as fast as they end
 * @param completion which thread sees a request through
 * @param verify how the bytes are compared
 * @param timing how long
 * @param requestTimeout deadline of one request
 * @param windowBytes memory that a row's requests go through in turn, unless one round of them is larger
 */
public record BenchPlan(List<String> transports, List<Op> ops, boolean bidirectional, MemoryKind initiatorMemory,
    MemoryKind targetMemory, List<RequestShape> shapes, int threads, int depth, double requestsPerSecond,
    Completion completion,
    Verify verify, RowTiming timing, Duration requestTimeout, long windowBytes) {
  /** More than caches hold, as what a worker computes is spread over its memory. */
  public static final long USUAL_WINDOW_BYTES = RowPlan.WINDOW_BYTES;

  private static final long SMALL = 256 << 10;

  public BenchPlan {
    transports = List.copyOf(transports);
    ops = List.copyOf(ops);
    shapes = List.copyOf(shapes);
  }

  /** One request at a time where its latency is of interest; from 256 KiB on enough to keep a link busy. */
  public int depthFor(RequestShape shape) {
    if (depth > 0) {
      return depth;
    }
    return shape.requestBytes() < SMALL ? 1 : 4;
  }

  /** A round posts every slot: with a rate there are to be no more of them than fit into the time. 0: not limited. */
  private long expectedRequests() {
    if (timing.iterations() > 0 || requestsPerSecond == 0) {
      return timing.iterations();
    }
    return Math.max(1, (long) (requestsPerSecond * timing.duration().toNanos() / 1e9));
  }

  RowPlan row(Op op, RequestShape shape) {
    int rowDepth = depthFor(shape);
    int slots = RowPlan.slotsFor(shape, threads, rowDepth, expectedRequests(), windowBytes);
    return new RowPlan(op, shape, threads, rowDepth, slots, verify, requestsPerSecond, completion,
        requestTimeout);
  }
}
