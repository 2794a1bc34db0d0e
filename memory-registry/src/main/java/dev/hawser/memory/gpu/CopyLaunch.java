/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/** How one launch of a copy kernel is to be made, apart from where its table is. Filled again for each. */
final class CopyLaunch {
  /** Bytes that one group of lanes copies at a time. */
  static final int ITEM_BYTES = 4096;

  /** The same for runs of large pieces: finding the run of an item then costs less in proportion. */
  static final int LARGE_ITEM_BYTES = 16_384;

  boolean indexed;
  long items;
  int itemBytes;
  int laneBits;
  long tableBytes;

  // for hawser_copy_indexed
  long localBase;
  long remoteBase;
  long pieceBytes;
  int itemsPerPiece;
  int unitBits;

  // for hawser_copy_runs
  int runs;

  /** One that keeps what this one is now. */
  CopyLaunch copy() {
    CopyLaunch other = new CopyLaunch();
    other.indexed = indexed;
    other.items = items;
    other.itemBytes = itemBytes;
    other.laneBits = laneBits;
    other.tableBytes = tableBytes;
    other.localBase = localBase;
    other.remoteBase = remoteBase;
    other.pieceBytes = pieceBytes;
    other.itemsPerPiece = itemsPerPiece;
    other.unitBits = unitBits;
    other.runs = runs;
    return other;
  }

  /** Lanes for pieces of so many bytes: as few as take them in one round of 16 bytes each, at most a warp. */
  static int laneBits(long bytes) {
    return bytes <= 64 ? 2 : bytes <= 128 ? 3 : bytes <= 256 ? 4 : 5;
  }
}
