/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;

/**
 * Turns pairs of blocks, given one after the other, into runs of pieces: pairs that continue each other on both sides
 * become one piece, and pieces of one length and one distance on each side become one run. Empty pairs vanish.
 */
final class PairCompressor {
  private static final int MANY = 256;

  private final int most;
  private long[] local = new long[16];
  private long[] remote = new long[16];
  private long[] length = new long[16];
  private long[] localStride = new long[16];
  private long[] remoteStride = new long[16];
  private int[] extent = new int[16];
  private int size;

  // the run that is still growing; its last piece is the one below
  private long runLocal;
  private long runRemote;
  private long runLength;
  private long runLocalStride;
  private long runRemoteStride;
  private int runExtent;

  // the piece that is still growing; none if it has no bytes
  private long pieceLocal;
  private long pieceRemote;
  private long pieceLength;

  /**
   * A compressor.
   *
   * @param pairs how many will be added at most, as far as that is known: where they turn out to be many runs, room for all
   *     is made at once
   */
  PairCompressor(int pairs) {
    most = pairs;
  }

  /** Adds a pair of blocks of {@code bytes} bytes. */
  void add(long localAddress, long remoteAddress, long bytes) {
    if (bytes == 0) {
      return;
    }
    if (localAddress == pieceLocal + pieceLength && remoteAddress == pieceRemote + pieceLength && pieceLength > 0) {
      pieceLength += bytes;
      return;
    }
    endPiece();
    pieceLocal = localAddress;
    pieceRemote = remoteAddress;
    pieceLength = bytes;
  }

  /** Adds {@code count} pairs of blocks, each side at one distance. */
  void addRun(
      long localAddress, long localDistance, long remoteAddress, long remoteDistance, long bytes, int count) {
    if (bytes == 0) {
      return;
    }
    if (localDistance == bytes && remoteDistance == bytes) {
      add(localAddress, remoteAddress, bytes * count);
      return;
    }
    add(localAddress, remoteAddress, bytes);
    if (count > 2) {
      endPiece();
      growRun(
          localAddress + localDistance,
          localDistance,
          remoteAddress + remoteDistance,
          remoteDistance,
          bytes,
          count - 2);
    }
    if (count > 1) {
      add(localAddress + (count - 1) * localDistance, remoteAddress + (count - 1) * remoteDistance, bytes);
    }
  }

  /** The runs; nothing can be added afterwards. */
  PairRuns finish() {
    endPiece();
    endRun();
    if (size == 0) {
      return PairRuns.NONE;
    }
    long[] firstByte = new long[size + 1];
    long pieces = 0;
    for (int run = 0; run < size; run++) {
      firstByte[run + 1] = firstByte[run] + length[run] * extent[run];
      pieces += extent[run];
    }
    if (size < local.length / 2) {
      resize(size);
    }
    return new PairRuns(
        size, 1, local, remote, length, extent, localStride, remoteStride, firstByte, Math.toIntExact(pieces));
  }

  private void endPiece() {
    if (pieceLength > 0) {
      growRun(pieceLocal, 0, pieceRemote, 0, pieceLength, 1);
      pieceLength = 0;
    }
  }

  /** Appends {@code count} pieces to the growing run, or begins another. The distances count from two pieces on. */
  private void growRun(
      long localAddress, long localDistance, long remoteAddress, long remoteDistance, long bytes, int count) {
    if (runExtent > 0 && bytes == runLength) {
      long last = runExtent - 1L;
      long toLocal = localAddress - (runLocal + last * runLocalStride);
      long toRemote = remoteAddress - (runRemote + last * runRemoteStride);
      // Several pieces are added right after their first one: their distance is the one to it.
      if (runExtent == 1 || (toLocal == runLocalStride && toRemote == runRemoteStride)) {
        runLocalStride = toLocal;
        runRemoteStride = toRemote;
        runExtent += count;
        return;
      }
    }
    endRun();
    runLocal = localAddress;
    runRemote = remoteAddress;
    runLength = bytes;
    runLocalStride = localDistance;
    runRemoteStride = remoteDistance;
    runExtent = count;
  }

  private void endRun() {
    if (runExtent == 0) {
      return;
    }
    if (size == local.length) {
      // Shuffled blocks are half as many runs: any two pieces are at one distance.
      resize(Math.max(size * 2, size < MANY ? 0 : most / 2 + 1));
    }
    local[size] = runLocal;
    remote[size] = runRemote;
    length[size] = runLength;
    localStride[size] = runExtent == 1 ? 0 : runLocalStride;
    remoteStride[size] = runExtent == 1 ? 0 : runRemoteStride;
    extent[size] = runExtent;
    size++;
    runExtent = 0;
  }

  private void resize(int runs) {
    local = Arrays.copyOf(local, runs);
    remote = Arrays.copyOf(remote, runs);
    length = Arrays.copyOf(length, runs);
    localStride = Arrays.copyOf(localStride, runs);
    remoteStride = Arrays.copyOf(remoteStride, runs);
    extent = Arrays.copyOf(extent, runs);
  }
}
