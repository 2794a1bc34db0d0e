/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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

  private static final int FIELDS = 4; // base, length, stride, extent
  private static final int CHUNK = FIELDS * 1024;

  // Finished runs, in chunks: growing an array would copy them all, again and again.
  private final List<long[]> full = new ArrayList<>();
  private long[] chunk = new long[FIELDS * 16];
  private int used; // of the chunk
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
    Runs runs = assembled();
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
    if (used == chunk.length) {
      makeRoom();
    }
    chunk[used] = lastBase;
    chunk[used + 1] = lastLength;
    chunk[used + 2] = lastExtent == 1 ? 0 : lastStride;
    chunk[used + 3] = lastExtent;
    used += FIELDS;
    blocks += lastExtent;
    lastExtent = 0;
  }

  /** The first chunk grows, for most lists are short; from then on there are more of them. */
  private void makeRoom() {
    if (chunk.length < CHUNK) {
      chunk = Arrays.copyOf(chunk, chunk.length * 2);
    } else {
      full.add(chunk);
      chunk = new long[CHUNK];
      used = 0;
    }
  }

  private Runs assembled() {
    int size = full.size() * (CHUNK / FIELDS) + used / FIELDS;
    if (size == 0) {
      return Runs.NONE;
    }
    Runs runs =
        new Runs(1, new long[size], new long[size], new int[size], new long[size], new int[size + 1]);
    int run = 0;
    for (long[] each : full) {
      run = unpack(each, CHUNK, runs, run);
    }
    unpack(chunk, used, runs, run);
    return runs;
  }

  private static int unpack(long[] from, int count, Runs to, int firstRun) {
    int run = firstRun;
    for (int at = 0; at < count; at += FIELDS) {
      to.base()[run] = from[at];
      to.length()[run] = from[at + 1];
      to.stride()[run] = from[at + 2];
      to.shape()[run] = (int) from[at + 3];
      to.first()[run + 1] = to.first()[run] + (int) from[at + 3];
      run++;
    }
    return run;
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
