/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * Regular grids of pieces, each with a local and a remote address, as flat arrays like those of {@link Runs}. No piece is
 * empty.
 *
 * @param size how many runs; the arrays may be longer
 * @param axes per run, at least 1
 * @param local local address of the first piece
 * @param remote remote address of the first piece
 * @param length bytes of each piece
 * @param shape extents, {@code axes} per run, last fastest
 * @param localStride bytes between local addresses, {@code axes} per run
 * @param remoteStride bytes between remote addresses, {@code axes} per run
 * @param firstByte position of the run's first byte, with the number of all bytes behind the last
 * @param pieces of all runs together
 */
@SuppressWarnings("ArrayRecordComponent") // flat arrays are its point; it never leaves the package
record PairRuns(
    int size,
    int axes,
    long[] local,
    long[] remote,
    long[] length,
    int[] shape,
    long[] localStride,
    long[] remoteStride,
    long[] firstByte,
    int pieces) {

  static final PairRuns NONE =
      new PairRuns(
          0, 1, new long[0], new long[0], new long[0], new int[0], new long[0], new long[0], new long[] {0}, 0);

  long totalBytes() {
    return firstByte[size];
  }

  /** The run that byte {@code position} is in. */
  int runOf(long position) {
    int low = 0;
    int high = size - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (firstByte[middle] <= position) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
