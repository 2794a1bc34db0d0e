/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Turns blocks, given one after the other, into runs: neighbours of one length and one distance become one run. Runs that
 * repeat at one distance become one run with an axis more.
 *
 * <p>Two blocks of one length are always a run, so there are at most half as many runs as blocks of equal length; a wrong
 * guess costs one run. Constant time per block, no allocation but the growing arrays.
 */
final class RunCompressor {
  private static final int MAX_AXES = 4;

  private long[] base = new long[16];
  private long[] length = new long[16];
  private long[] stride = new long[16];
  private int[] extent = new int[16];
  private int size;
  private long blocks;

  // the run that is still growing
  private long lastBase;
  private long lastLength;
  private long lastStride;
  private int lastExtent;
  private long expected; // where its next block would be, if it has two or more

  /** Adds a block; its range has been checked. */
  void add(long address, long bytes) {
    if (lastExtent >= 2) {
      if (address == expected && bytes == lastLength && lastExtent != Integer.MAX_VALUE) {
        lastExtent++;
        expected += lastStride;
        return;
      }
    } else if (lastExtent == 1 && bytes == lastLength) {
      lastStride = address - lastBase;
      lastExtent = 2;
      expected = address + lastStride;
      return;
    }
    flush();
    lastBase = address;
    lastLength = bytes;
    lastExtent = 1;
  }

  /** Adds {@code count} blocks at one distance; their ranges have been checked. */
  void addRun(long address, long distance, long bytes, int count) {
    if (count <= 2) {
      for (int i = 0; i < count; i++) {
        add(address + i * distance, bytes);
      }
      return;
    }
    boolean joins =
        bytes == lastLength
            && (lastExtent >= 2
                ? address == expected && distance == lastStride
                : lastExtent == 1 && address - lastBase == distance);
    if (joins && (long) lastExtent + count <= Integer.MAX_VALUE) {
      lastStride = distance;
      lastExtent += count;
    } else {
      flush();
      lastBase = address;
      lastLength = bytes;
      lastStride = distance;
      lastExtent = count;
    }
    expected = lastBase + lastExtent * lastStride;
  }

  /** How many blocks were added. */
  long blocks() {
    return blocks + lastExtent;
  }

  /** The runs; nothing can be added afterwards. */
  Runs finish() {
    flush();
    if (size == 0) {
      return Runs.NONE;
    }
    Runs runs =
        new Runs(
            1,
            Arrays.copyOf(base, size),
            Arrays.copyOf(length, size),
            Arrays.copyOf(extent, size),
            Arrays.copyOf(stride, size),
            firsts());
    while (runs.axes() < MAX_AXES && runs.size() > 1) {
      Runs folded = fold(runs);
      if (folded == null) {
        break;
      }
      runs = folded;
    }
    return runs;
  }

  private void flush() {
    if (lastExtent == 0) {
      return;
    }
    if (size == base.length) {
      int grown = size * 2;
      base = Arrays.copyOf(base, grown);
      length = Arrays.copyOf(length, grown);
      stride = Arrays.copyOf(stride, grown);
      extent = Arrays.copyOf(extent, grown);
    }
    base[size] = lastBase;
    length[size] = lastLength;
    stride[size] = lastExtent == 1 ? 0 : lastStride;
    extent[size] = lastExtent;
    size++;
    blocks += lastExtent;
    lastExtent = 0;
  }

  private int[] firsts() {
    int[] first = new int[size + 1];
    for (int run = 0; run < size; run++) {
      first[run + 1] = first[run] + extent[run];
    }
    return first;
  }

  /** Joins runs of one shape at one distance, if that leaves at most a quarter of them; otherwise null. */
  private static @Nullable Runs fold(Runs runs) {
    int axes = runs.axes();
    int groups = 0;
    for (int run = 0; run < runs.size(); run = groupEnd(runs, run)) {
      groups++;
    }
    if (groups > Math.max(1, runs.size() / 4)) {
      return null;
    }
    long[] base = new long[groups];
    long[] length = new long[groups];
    int[] shape = new int[groups * (axes + 1)];
    long[] stride = new long[groups * (axes + 1)];
    int[] first = new int[groups + 1];
    int group = 0;
    for (int run = 0; run < runs.size();) {
      int end = groupEnd(runs, run);
      base[group] = runs.base()[run];
      length[group] = runs.length()[run];
      first[group + 1] = runs.first()[end];
      int to = group * (axes + 1);
      shape[to] = end - run;
      stride[to] = end - run == 1 ? 0 : runs.base()[run + 1] - runs.base()[run];
      System.arraycopy(runs.shape(), run * axes, shape, to + 1, axes);
      System.arraycopy(runs.stride(), run * axes, stride, to + 1, axes);
      group++;
      run = end;
    }
    return new Runs(axes + 1, base, length, shape, stride, first);
  }

  private static int groupEnd(Runs runs, int from) {
    int end = from + 1;
    while (end < runs.size()
        && isAlike(runs, from, end)
        && (end == from + 1
            || runs.base()[end] - runs.base()[end - 1] == runs.base()[from + 1] - runs.base()[from])) {
      end++;
    }
    return end;
  }

  private static boolean isAlike(Runs runs, int one, int other) {
    int axes = runs.axes();
    return runs.length()[one] == runs.length()[other]
        && Arrays.equals(
            runs.shape(), one * axes, (one + 1) * axes, runs.shape(), other * axes, (other + 1) * axes)
        && Arrays.equals(
            runs.stride(), one * axes, (one + 1) * axes, runs.stride(), other * axes, (other + 1) * axes);
  }
}
