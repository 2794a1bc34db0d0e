/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Steps through the blocks of runs, in order, by additions only. Not thread-safe. */
final class RunWalker {
  private final Runs runs;
  private final int[] position;
  private int run = -1;
  private int left; // blocks of the innermost axis after this one
  private long innerStride;
  private long address;
  private long length;

  RunWalker(Runs runs) {
    this.runs = runs;
    this.position = new int[runs.axes()];
  }

  /** Moves to the next block, if there is one. */
  boolean next() {
    if (left > 0) {
      left--;
      address += innerStride;
      return true;
    }
    return nextRow();
  }

  long address() {
    return address;
  }

  long length() {
    return length;
  }

  /** How many blocks, this one included, follow at {@link #stride} from each other. */
  int rowLeft() {
    return left + 1;
  }

  long stride() {
    return innerStride;
  }

  /** Skips {@code count} blocks of the row, fewer than {@link #rowLeft}. */
  void skip(int count) {
    left -= count;
    address += count * innerStride;
  }

  private boolean nextRow() {
    if (run == runs.size()) {
      return false;
    }
    if (run >= 0) {
      int axes = runs.axes();
      int origin = run * axes;
      int inner = origin + axes - 1;
      long rowStart = address - (runs.shape()[inner] - 1) * innerStride;
      for (int axis = axes - 2; axis >= 0; axis--) {
        position[axis]++;
        rowStart += runs.stride()[origin + axis];
        if (position[axis] < runs.shape()[origin + axis]) {
          address = rowStart;
          left = runs.shape()[inner] - 1;
          return true;
        }
        rowStart -= position[axis] * runs.stride()[origin + axis];
        position[axis] = 0;
      }
    }
    run++;
    if (run == runs.size()) {
      return false;
    }
    int inner = (run + 1) * runs.axes() - 1;
    address = runs.base()[run];
    length = runs.length()[run];
    innerStride = runs.stride()[inner];
    left = runs.shape()[inner] - 1;
    return true;
  }
}
