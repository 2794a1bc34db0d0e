/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.lang.foreign.MemorySegment;

/** Compares all of a memory, or a share of its pieces. */
final class Sampled {
  private static final long PIECE = 4096;
  private static final int ONE_OF = 16;

  private Sampled() {}

  /** Position of the first wrong byte, −1 if none was found. */
  static long firstWrong(Pattern pattern, MemorySegment memory, long generation, Verify verify) {
    return switch (verify) {
      case NONE -> -1;
      case FULL -> pattern.firstWrong(memory, 0, generation);
      case SAMPLE -> sampled(pattern, memory, generation);
    };
  }

  /** Whether a piece is looked at: the first and the last, and others that change from generation to generation. */
  static boolean isChosen(long piece, long pieces, long generation) {
    return piece == 0 || piece == pieces - 1
        || Long.hashCode((piece * 31 + generation) * 0x9e3779b97f4a7c15L) % ONE_OF == 0;
  }

  private static long sampled(Pattern pattern, MemorySegment memory, long generation) {
    long pieces = Math.ceilDiv(memory.byteSize(), PIECE);
    for (long piece = 0; piece < pieces; piece++) {
      if (isChosen(piece, pieces, generation)) {
        long at = piece * PIECE;
        long wrong =
            pattern.firstWrong(memory.asSlice(at, Math.min(PIECE, memory.byteSize() - at)), at, generation);
        if (wrong >= 0) {
          return wrong;
        }
      }
    }
    return -1;
  }
}
