/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;
import java.util.List;

/**
 * What a mesh measures.
 *
 * @param nodes names of the nodes, two or more
 * @param transport the only one to use
 * @param op the direction
 * @param shape what one request moves
 * @param threads threads that post, for each pair
 * @param depth requests that each keeps under way
 * @param verify how the bytes are compared
 * @param timing how long each step
 * @param requestTimeout deadline of one request
 */
public record MeshPlan(List<String> nodes, String transport, Op op, RequestShape shape, int threads, int depth,
    Verify verify, RowTiming timing, Duration requestTimeout) {
  /** Every pair has its own on both sides, all at once. */
  private static final long WINDOW_BYTES = 16L << 20;

  public MeshPlan {
    nodes = List.copyOf(nodes);
  }

  RowPlan row() {
    int slots = RowPlan.slotsFor(shape, threads, depth, timing.iterations(), WINDOW_BYTES);
    return new RowPlan(op, shape, threads, depth, slots, verify, 0, Completion.CALLER, requestTimeout);
  }
}
