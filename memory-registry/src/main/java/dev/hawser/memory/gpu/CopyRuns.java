/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.util.Arrays;

/**
 * Pieces to copy, joined to runs of even distances as they come, and written as the table of a copy kernel: runs where
 * there are few, else an index of 4 bytes per side. For one thread; allocates nothing once it has grown.
 */
final class CopyRuns {
  /** Room for the largest table. */
  static final int TABLE_BYTES = 1 << 20;

  private static final int RUN_BYTES = 48;
  private static final int MAX_TABLE_RUNS = TABLE_BYTES / RUN_BYTES;
  private static final int MAX_TABLE_PIECES = TABLE_BYTES / Long.BYTES;
  private static final int FEW_PIECES = 4; // a run with fewer pieces than this takes more room than indices

  private long[] local = new long[256];
  private long[] remote = new long[256];
  private long[] localStride = new long[256];
  private long[] remoteStride = new long[256];
  private long[] bytes = new long[256];
  private int[] count = new int[256];
  private int size;
  private long pieces;
  private long items;
  private long totalBytes;
  private boolean uniform;

  // where the next piece would continue the last run
  private long nextLocal;
  private long nextRemote;

  // for indices
  private long lowestLocal;
  private long highestLocal;
  private long lowestRemote;
  private long highestRemote;
  private long differences; // all bits in which pieces are not a multiple of each other's distance

  boolean isEmpty() {
    return pieces == 0;
  }

  long totalBytes() {
    return totalBytes;
  }

  void clear() {
    size = 0;
    pieces = 0;
    items = 0;
    totalBytes = 0;
  }

  /** Whether the pieces have to be submitted before this one can be added. */
  boolean isFullFor(long localAddress, long remoteAddress, long length) {
    if (size < MAX_TABLE_RUNS) {
      return false;
    }
    boolean staysUniform = uniform && length == bytes[0];
    return !staysUniform || pieces >= MAX_TABLE_PIECES || !indicesReach(localAddress, remoteAddress);
  }

  private boolean indicesReach(long localAddress, long remoteAddress) {
    long localSpan = Math.max(highestLocal, localAddress) - Math.min(lowestLocal, localAddress);
    long remoteSpan = Math.max(highestRemote, remoteAddress) - Math.min(lowestRemote, remoteAddress);
    int bits = unitBits(differences | (localAddress - local[0]) | (remoteAddress - remote[0]));
    return (Math.max(localSpan, remoteSpan) >>> bits) <= 0xffff_ffffL;
  }

  private static int unitBits(long differences) {
    return Math.min(31, Long.numberOfTrailingZeros(differences));
  }

  /** Adds a piece of at least one byte. */
  void add(long localAddress, long remoteAddress, long length) {
    if (pieces == 0) {
      uniform = true;
      lowestLocal = localAddress;
      highestLocal = localAddress;
      lowestRemote = remoteAddress;
      highestRemote = remoteAddress;
      differences = 0;
      startRun(localAddress, remoteAddress, length);
    } else {
      uniform &= length == bytes[0];
      lowestLocal = Math.min(lowestLocal, localAddress);
      highestLocal = Math.max(highestLocal, localAddress);
      lowestRemote = Math.min(lowestRemote, remoteAddress);
      highestRemote = Math.max(highestRemote, remoteAddress);
      differences |= (localAddress - local[0]) | (remoteAddress - remote[0]);
      joinOrStart(localAddress, remoteAddress, length);
    }
    pieces++;
    items += length <= CopyLaunch.ITEM_BYTES ? 1 : itemsOf(length);
    totalBytes += length;
  }

  private void joinOrStart(long localAddress, long remoteAddress, long length) {
    int last = size - 1;
    if (bytes[last] != length) {
      startRun(localAddress, remoteAddress, length);
    } else if (count[last] == 1) {
      localStride[last] = localAddress - local[last];
      remoteStride[last] = remoteAddress - remote[last];
      count[last] = 2;
      nextLocal = localAddress + localStride[last];
      nextRemote = remoteAddress + remoteStride[last];
    } else if (localAddress == nextLocal && remoteAddress == nextRemote) {
      count[last]++;
      nextLocal += localStride[last];
      nextRemote += remoteStride[last];
    } else {
      startRun(localAddress, remoteAddress, length);
    }
  }

  private void startRun(long localAddress, long remoteAddress, long length) {
    if (size == local.length) {
      grow();
    }
    local[size] = localAddress;
    remote[size] = remoteAddress;
    localStride[size] = 0;
    remoteStride[size] = 0;
    bytes[size] = length;
    count[size] = 1;
    size++;
  }

  private void grow() {
    int larger = size * 2;
    local = Arrays.copyOf(local, larger);
    remote = Arrays.copyOf(remote, larger);
    localStride = Arrays.copyOf(localStride, larger);
    remoteStride = Arrays.copyOf(remoteStride, larger);
    bytes = Arrays.copyOf(bytes, larger);
    count = Arrays.copyOf(count, larger);
  }

  private static long itemsOf(long length) {
    return (length + CopyLaunch.ITEM_BYTES - 1) / CopyLaunch.ITEM_BYTES;
  }

  /** Plans the launch. The table then takes {@link CopyLaunch#tableBytes}, at most {@link #TABLE_BYTES}. */
  void plan(CopyLaunch launch) {
    long average = totalBytes / pieces;
    launch.items = items;
    launch.laneBits = CopyLaunch.laneBits(average);
    launch.indexed =
        uniform
            && pieces <= MAX_TABLE_PIECES
            && (size > MAX_TABLE_RUNS || size > pieces / FEW_PIECES)
            && items <= Integer.MAX_VALUE
            && indicesReach(local[0], remote[0]);
    if (launch.indexed) {
      launch.localBase = lowestLocal;
      launch.remoteBase = lowestRemote;
      launch.pieceBytes = bytes[0];
      launch.itemsPerPiece = (int) itemsOf(bytes[0]);
      launch.unitBits = unitBits(differences);
      launch.tableBytes = pieces * Long.BYTES;
    } else {
      launch.runs = size;
      launch.tableBytes = (long) size * RUN_BYTES;
    }
  }

  /** Writes the table of a launch that {@link #plan} planned. */
  void write(CopyLaunch launch, long table) {
    if (launch.indexed) {
      writeIndices(launch.unitBits, table);
    } else {
      writeRuns(table);
    }
  }

  private void writeIndices(int unitBits, long table) {
    long at = table;
    for (int run = 0; run < size; run++) {
      long localOffset = local[run] - lowestLocal;
      long remoteOffset = remote[run] - lowestRemote;
      for (int piece = 0; piece < count[run]; piece++) {
        Native.ALL.set(JAVA_LONG, at, localOffset >>> unitBits | remoteOffset >>> unitBits << 32);
        at += Long.BYTES;
        localOffset += localStride[run];
        remoteOffset += remoteStride[run];
      }
    }
  }

  private void writeRuns(long table) {
    long at = table;
    long firstItem = 0;
    for (int run = 0; run < size; run++) {
      Native.ALL.set(JAVA_LONG, at, local[run]);
      Native.ALL.set(JAVA_LONG, at + 8, remote[run]);
      Native.ALL.set(JAVA_LONG, at + 16, localStride[run]);
      Native.ALL.set(JAVA_LONG, at + 24, remoteStride[run]);
      Native.ALL.set(JAVA_LONG, at + 32, bytes[run]);
      Native.ALL.set(JAVA_LONG, at + 40, firstItem);
      firstItem += count[run] * itemsOf(bytes[run]);
      at += RUN_BYTES;
    }
  }
}
