/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Bytes that depend on their position and on a seed, so that a moved, stale or torn block shows. */
final class Pattern {
  private Pattern() {}

  static byte at(long position, long seed) {
    long x = (position + seed * 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L;
    return (byte) (x >>> 56 ^ x >>> 24);
  }

  static void fill(MemorySegment segment, long seed) {
    for (long i = 0, n = segment.byteSize(); i < n; i++) {
      segment.set(ValueLayout.JAVA_BYTE, i, at(i, seed));
    }
  }

  /** The first position whose byte is not that of a pattern which begins at {@code from}; −1 if all are. */
  static long mismatch(MemorySegment segment, long from, long seed) {
    for (long i = 0, n = segment.byteSize(); i < n; i++) {
      if (segment.get(ValueLayout.JAVA_BYTE, i) != at(from + i, seed)) {
        return i;
      }
    }
    return -1;
  }
}
