/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Bytes that depend on their place and on a seed, so that a block that is swapped, stale or torn is seen. */
final class Pattern {
  private static final ValueLayout.OfLong WORD =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Pattern() {}

  static void fill(MemorySegment memory, long seed) {
    long bytes = memory.byteSize();
    long whole = bytes & -Long.BYTES;
    for (long at = 0; at < whole; at += Long.BYTES) {
      memory.set(WORD, at, word(seed, at));
    }
    for (long at = whole; at < bytes; at++) {
      memory.set(ValueLayout.JAVA_BYTE, at, (byte) (word(seed, whole) >>> (Byte.SIZE * (at - whole))));
    }
  }

  private static long word(long seed, long at) {
    long mixed = (at >>> 3) * 0x9e3779b97f4a7c15L + seed * 0xc2b2ae3d27d4eb4fL;
    mixed = (mixed ^ mixed >>> 32) * 0xd6e8feb86659fd93L;
    return mixed ^ mixed >>> 29;
  }
}
