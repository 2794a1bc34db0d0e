/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.util.Arrays;

/**
 * Collects pieces to copy, and writes the tables of the copy kernels. Pieces of one length, the usual case, become an index
 * of 4 bytes per side, written as they come; long rows at even distances, and pieces of many lengths, become runs. For one
 * thread; allocates nothing once it has grown.
 */
final class CopyBatch {
  /** Room for the largest table. */
  static final int TABLE_BYTES = 1 << 20;

  private static final int RUN_BYTES = 48;
  private static final int MAX_RUNS = TABLE_BYTES / RUN_BYTES;
  private static final int MAX_INDICES = TABLE_BYTES / Long.BYTES;

  /** Rows of so many pieces are kept as runs: their indices would take more time to write than to read. */
  private static final int LONG_ROW = 64;

  /** With so many indices a piece that does not fit begins another table; with fewer they are turned into runs. */
  private static final int MANY_INDICES = 1024;

  /** From this average on the items of runs are large. */
  private static final long LARGE_PIECE = 64 << 10;

  /** The most indices that one joined piece becomes. */
  private static final int MAX_PARTS = 64;

  /** Where tables go. */
  interface Target {
    /** Room for a table of {@link #TABLE_BYTES}; that of the call before is given up. */
    long room();

    /** The table in that room is written; the launch is used again. */
    void launch(CopyLaunch launch);

    /** A piece that is not worth a table. */
    void copy(long local, long remote, long bytes);
  }

  private final Target target;
  private final CopyLaunch launch = new CopyLaunch();

  // The index. A length of 0 means that there is none.
  private long table;
  private long firstLocal;
  private long firstRemote;
  private long length;
  private int count;
  private int unitBits;

  private boolean mixed; // whether pieces come in lengths, or from places, that no index can take

  private long[] local = new long[64];
  private long[] remote = new long[64];
  private long[] localStride = new long[64];
  private long[] remoteStride = new long[64];
  private long[] bytes = new long[64];
  private int[] pieces = new int[64];
  private int runs;

  CopyBatch(Target target) {
    this.target = target;
  }

  /** Forgets what was not submitted. */
  void clear() {
    length = 0;
    count = 0;
    runs = 0;
    mixed = false;
  }

  /** Adds a piece of at least one byte. */
  void add(long localAddress, long remoteAddress, long pieceBytes) {
    long localOffset = localAddress - firstLocal;
    long remoteOffset = remoteAddress - firstRemote;
    if (pieceBytes == length && count < MAX_INDICES && reaches(localOffset, remoteOffset, unitBits)) {
      put(localOffset, remoteOffset);
    } else {
      addOtherwise(localAddress, remoteAddress, pieceBytes);
    }
  }

  /** Whether both offsets are whole units, and as many as 32 bits take. */
  private static boolean reaches(long localOffset, long remoteOffset, int bits) {
    int left = Long.SIZE - Integer.SIZE - bits;
    long tooFar = (localOffset << left >> left ^ localOffset) | (remoteOffset << left >> left ^ remoteOffset);
    return (tooFar | ((localOffset | remoteOffset) & ((1L << bits) - 1))) == 0;
  }

  private void put(long localOffset, long remoteOffset) {
    Native.ALL.set(
        JAVA_LONG,
        table + (long) count * Long.BYTES,
        (localOffset >> unitBits & 0xffff_ffffL) | remoteOffset >> unitBits << 32);
    count++;
  }

  private void addOtherwise(long localAddress, long remoteAddress, long pieceBytes) {
    if (mixed) {
      addRun(localAddress, remoteAddress, 0, 0, pieceBytes, 1);
    } else if (length == 0) {
      begin(localAddress, remoteAddress, pieceBytes);
    } else if (pieceBytes == length
        && count < MAX_INDICES
        && narrowFor(localAddress - firstLocal, remoteAddress - firstRemote)) {
      add(localAddress, remoteAddress, pieceBytes);
    } else if (pieceBytes > length && pieceBytes % length == 0 && pieceBytes / length <= MAX_PARTS) {
      // neighbours that were joined: as pieces of the common length they fit the index
      for (long done = 0; done < pieceBytes; done += length) {
        add(localAddress + done, remoteAddress + done, length);
      }
    } else if (pieceBytes < length && split(pieceBytes)) {
      add(localAddress, remoteAddress, pieceBytes);
    } else if (count >= MANY_INDICES) {
      submit();
      begin(localAddress, remoteAddress, pieceBytes);
    } else {
      turnIntoRuns();
      addRun(localAddress, remoteAddress, 0, 0, pieceBytes, 1);
    }
  }

  private void begin(long localAddress, long remoteAddress, long pieceBytes) {
    table = target.room();
    firstLocal = localAddress;
    firstRemote = remoteAddress;
    length = pieceBytes;
    unitBits = 4; // 16 bytes, until a piece is less aligned
    count = 0;
    put(0, 0);
  }

  /** Makes the index take a piece at these offsets, if that is a question of its unit. */
  private boolean narrowFor(long localOffset, long remoteOffset) {
    int bits = Math.min(unitBits, Long.numberOfTrailingZeros(localOffset | remoteOffset));
    return reaches(localOffset, remoteOffset, bits) && narrow(localOffset | remoteOffset);
  }

  /** Writes the index again in units that {@code offsets} is a multiple of; false if its offsets are too far for that. */
  private boolean narrow(long offsets) {
    int bits = Math.min(unitBits, Long.numberOfTrailingZeros(offsets));
    if (bits == unitBits) {
      return true;
    }
    int wider = unitBits - bits;
    for (int i = 0; i < count; i++) {
      long both = Native.ALL.get(JAVA_LONG, table + (long) i * Long.BYTES);
      if (!reaches((long) (int) both << unitBits, both >> 32 << unitBits, bits)) {
        return false;
      }
    }
    for (int i = 0; i < count; i++) {
      long at = table + (long) i * Long.BYTES;
      long both = Native.ALL.get(JAVA_LONG, at);
      Native.ALL.set(JAVA_LONG, at, ((long) (int) both << wider & 0xffff_ffffL) | both >> 32 << wider << 32);
    }
    unitBits = bits;
    return true;
  }

  /** Writes the index again in pieces of a smaller length, if that divides the present one and the table is short. */
  private boolean split(long pieceBytes) {
    long parts = length / pieceBytes;
    if (length % pieceBytes != 0 || parts > MAX_PARTS || count >= MANY_INDICES || !narrow(pieceBytes)) {
      return false;
    }
    long step = pieceBytes >> unitBits;
    long last = (parts - 1) * step;
    for (int i = 0; i < count; i++) {
      long both = Native.ALL.get(JAVA_LONG, table + (long) i * Long.BYTES);
      if ((int) both + last > Integer.MAX_VALUE || (both >> 32) + last > Integer.MAX_VALUE) {
        return false;
      }
    }
    for (int i = count - 1; i >= 0; i--) {
      long both = Native.ALL.get(JAVA_LONG, table + (long) i * Long.BYTES);
      for (long part = parts - 1; part >= 0; part--) {
        long left = (int) both + part * step;
        long right = (both >> 32) + part * step;
        Native.ALL.set(JAVA_LONG, table + (i * parts + part) * Long.BYTES, (left & 0xffff_ffffL) | right << 32);
      }
    }
    count *= (int) parts;
    length = pieceBytes;
    return true;
  }

  private void turnIntoRuns() {
    int moved = count;
    long pieceBytes = length;
    count = 0;
    length = 0;
    mixed = true;
    for (int i = 0; i < moved; i++) {
      long both = Native.ALL.get(JAVA_LONG, table + (long) i * Long.BYTES);
      addRun(
          firstLocal + ((long) (int) both << unitBits),
          firstRemote + (both >> 32 << unitBits),
          0,
          0,
          pieceBytes,
          1);
    }
  }

  /** Adds pieces at even distances. */
  void addRow(
      long localAddress, long remoteAddress, long localStep, long remoteStep, long pieceBytes, int pieceCount) {
    if (pieceCount >= LONG_ROW) {
      addRun(localAddress, remoteAddress, localStep, remoteStep, pieceBytes, pieceCount);
      return;
    }
    long left = localAddress;
    long right = remoteAddress;
    for (int i = 0; i < pieceCount; i++) {
      add(left, right, pieceBytes);
      left += localStep;
      right += remoteStep;
    }
  }

  private void addRun(
      long localAddress, long remoteAddress, long localStep, long remoteStep, long pieceBytes, int pieceCount) {
    if (runs == MAX_RUNS) {
      submit();
    }
    if (runs == local.length) {
      grow();
    }
    local[runs] = localAddress;
    remote[runs] = remoteAddress;
    localStride[runs] = localStep;
    remoteStride[runs] = remoteStep;
    bytes[runs] = pieceBytes;
    pieces[runs] = pieceCount;
    runs++;
  }

  private void grow() {
    int larger = Math.min(MAX_RUNS, runs * 2);
    local = Arrays.copyOf(local, larger);
    remote = Arrays.copyOf(remote, larger);
    localStride = Arrays.copyOf(localStride, larger);
    remoteStride = Arrays.copyOf(remoteStride, larger);
    bytes = Arrays.copyOf(bytes, larger);
    pieces = Arrays.copyOf(pieces, larger);
  }

  /** Launches what was collected. */
  void submit() {
    if (count == 1) {
      target.copy(firstLocal, firstRemote, length);
    } else if (count > 1) {
      launch.indexed = true;
      launch.localBase = firstLocal;
      launch.remoteBase = firstRemote;
      launch.pieceBytes = length;
      launch.itemBytes = CopyLaunch.ITEM_BYTES;
      launch.itemsPerPiece = Math.toIntExact(itemsOf(length, CopyLaunch.ITEM_BYTES));
      launch.items = (long) count * launch.itemsPerPiece;
      launch.unitBits = unitBits;
      launch.laneBits = CopyLaunch.laneBits(length);
      launch.tableBytes = (long) count * Long.BYTES;
      target.launch(launch);
    }
    if (runs > 0) {
      writeRuns(target.room());
      target.launch(launch);
    }
    clear();
  }

  private void writeRuns(long room) {
    long allBytes = 0;
    long allPieces = 0;
    for (int run = 0; run < runs; run++) {
      allPieces += pieces[run];
      allBytes += pieces[run] * bytes[run];
    }
    long average = allBytes / allPieces;
    int itemBytes = average >= LARGE_PIECE ? CopyLaunch.LARGE_ITEM_BYTES : CopyLaunch.ITEM_BYTES;
    long at = room;
    long items = 0;
    for (int run = 0; run < runs; run++) {
      Native.ALL.set(JAVA_LONG, at, local[run]);
      Native.ALL.set(JAVA_LONG, at + 8, remote[run]);
      Native.ALL.set(JAVA_LONG, at + 16, localStride[run]);
      Native.ALL.set(JAVA_LONG, at + 24, remoteStride[run]);
      Native.ALL.set(JAVA_LONG, at + 32, bytes[run]);
      Native.ALL.set(JAVA_LONG, at + 40, items);
      items += pieces[run] * itemsOf(bytes[run], itemBytes);
      at += RUN_BYTES;
    }
    launch.indexed = false;
    launch.runs = runs;
    launch.items = items;
    launch.itemBytes = itemBytes;
    launch.laneBits = CopyLaunch.laneBits(average);
    launch.tableBytes = (long) runs * RUN_BYTES;
  }

  private static long itemsOf(long pieceBytes, int itemBytes) {
    return (pieceBytes + itemBytes - 1) / itemBytes;
  }
}
