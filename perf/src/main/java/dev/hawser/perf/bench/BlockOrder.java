/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.SplittableRandom;

/**
 * Which blocks of the memory a slot's request takes, on both sides. With several blocks to a request they are shuffled,
 * on each side differently, as the pages of a cache are: adjacent blocks would be joined into one copy.
 */
final class BlockOrder {
  private final int batch;
  private final int[] local;
  private final int[] remote;

  BlockOrder(RowPlan plan, long seed) {
    batch = plan.shape().batch();
    int blocks = Math.multiplyExact(plan.slots(), batch);
    local = order(blocks, batch > 1, seed + 1);
    remote = order(blocks, batch > 1, seed + 2);
  }

  private static int[] order(int blocks, boolean shuffled, long seed) {
    int[] order = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      order[i] = i;
    }
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = blocks; shuffled && i > 1; i--) {
      int j = random.nextInt(i);
      int swapped = order[i - 1];
      order[i - 1] = order[j];
      order[j] = swapped;
    }
    return order;
  }

  int blocks() {
    return local.length;
  }

  int local(int i) {
    return local[i];
  }

  int remote(int i) {
    return remote[i];
  }

  /** Whether every block lies at the same place on both sides. */
  boolean isPlain() {
    return batch == 1;
  }

  int[] localOf(int slot) {
    return java.util.Arrays.copyOfRange(local, slot * batch, (slot + 1) * batch);
  }

  int[] remoteOf(int slot) {
    return java.util.Arrays.copyOfRange(remote, slot * batch, (slot + 1) * batch);
  }
}
