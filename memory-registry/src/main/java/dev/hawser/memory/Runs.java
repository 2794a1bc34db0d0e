/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;

/**
 * Regular grids of blocks, as flat arrays: run r stands for blocks of one length at a base plus, for each axis, a multiple
 * of that axis's stride. All runs have the same number of axes; those with fewer are padded in front with extents of 1.
 *
 * @param axes per run, at least 1
 * @param base address of the first block
 * @param length bytes of each block
 * @param shape extents, {@code axes} per run, last fastest, each at least 1
 * @param stride bytes from one block to the next, {@code axes} per run
 * @param first index of the run's first block, with the number of all blocks behind the last
 */
@SuppressWarnings("ArrayRecordComponent") // flat arrays are its point; it never leaves the package
record Runs(int axes, long[] base, long[] length, int[] shape, long[] stride, int[] first) {
  static final Runs NONE = new Runs(1, new long[0], new long[0], new int[0], new long[0], new int[] {0});

  int size() {
    return base.length;
  }

  int count() {
    return first[base.length];
  }

  /** Whether it is blocks of one length at one distance. */
  boolean isRow() {
    return base.length == 1 && axes == 1;
  }

  /** The run that block {@code index} is in. */
  int runOf(int index) {
    int low = 0;
    int high = base.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (first[middle] <= index) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  long address(int run, int indexInRun) {
    int rest = indexInRun;
    long address = base[run];
    int origin = run * axes;
    for (int axis = axes - 1; axis > 0; axis--) {
      int extent = shape[origin + axis];
      int next = rest / extent;
      address += (rest - next * extent) * stride[origin + axis];
      rest = next;
    }
    return address + rest * stride[origin];
  }

  /** Blocks in one run. */
  int countOf(int run) {
    return first[run + 1] - first[run];
  }

  /** The lowest address of a run. */
  long lowest(int run) {
    long address = base[run];
    for (int axis = run * axes; axis < (run + 1) * axes; axis++) {
      address += Math.min(0, (shape[axis] - 1) * stride[axis]);
    }
    return address;
  }

  /** The end of the highest block of a run. */
  long end(int run) {
    long address = base[run] + length[run];
    for (int axis = run * axes; axis < (run + 1) * axes; axis++) {
      address += Math.max(0, (shape[axis] - 1) * stride[axis]);
    }
    return address;
  }

  /** The same runs with {@code wanted} axes, at least as many as now. */
  Runs padded(int wanted) {
    if (wanted == axes) {
      return this;
    }
    int[] wideShape = new int[size() * wanted];
    long[] wideStride = new long[size() * wanted];
    Arrays.fill(wideShape, 1);
    for (int run = 0; run < size(); run++) {
      int to = run * wanted + wanted - axes;
      System.arraycopy(shape, run * axes, wideShape, to, axes);
      System.arraycopy(stride, run * axes, wideStride, to, axes);
    }
    return new Runs(wanted, base, length, wideShape, wideStride, first);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Runs runs
        && axes == runs.axes
        && Arrays.equals(base, runs.base)
        && Arrays.equals(length, runs.length)
        && Arrays.equals(shape, runs.shape)
        && Arrays.equals(stride, runs.stride)
        && Arrays.equals(first, runs.first);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(base) + Arrays.hashCode(shape);
  }

  @Override
  public String toString() {
    return size() + " runs of " + count() + " blocks";
  }
}
