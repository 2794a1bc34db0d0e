/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The content of one block, in place of real keys and values. It depends on the owner, the layer, the part, the position
 * and the place within the block, so that a swapped, shifted, stale or torn block is seen.
 *
 * @param seed differs between any two blocks
 */
record KvPattern(long seed) {
  /** 2⁶⁴ divided by the golden ratio, as SplitMix64 steps. */
  private static final long STEP = 0x9E3779B97F4A7C15L;

  /** The content of a block of an owner, for example a request. */
  static KvPattern of(String owner, int layer, Part part, int position) {
    long seed = 1;
    for (int i = 0; i < owner.length(); i++) {
      seed = mixed(seed + owner.charAt(i));
    }
    seed = mixed(seed + layer);
    seed = mixed(seed + part.plane());
    return new KvPattern(mixed(seed + position));
  }

  /** Fills a block. */
  void writeTo(MemorySegment block) {
    long words = block.byteSize() / Long.BYTES;
    for (long i = 0; i < words; i++) {
      block.setAtIndex(ValueLayout.JAVA_LONG, i, word(i));
    }
  }

  /** The byte at which the first word lies that differs; −1 if the block holds the pattern. */
  long firstDifference(MemorySegment block) {
    long words = block.byteSize() / Long.BYTES;
    for (long i = 0; i < words; i++) {
      if (block.getAtIndex(ValueLayout.JAVA_LONG, i) != word(i)) {
        return i * Long.BYTES;
      }
    }
    return -1;
  }

  private long word(long index) {
    return mixed(seed + index * STEP);
  }

  /** SplitMix64's output function: each bit of the input changes about half of the output's. */
  private static long mixed(long value) {
    long z = value + STEP;
    z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }
}
