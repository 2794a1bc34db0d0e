/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Bytes that depend on their position and on a seed: what is swapped, stale or torn is seen. */
final class Pattern {
  static final byte CANARY = (byte) 0xA5;

  private Pattern() {}

  static byte at(long seed, long position) {
    long x = (seed * 0x9E3779B97F4A7C15L) ^ (position >>> 3) * 0xBF58476D1CE4E5B9L;
    x ^= x >>> 29;
    return (byte) (x >>> ((position & 7) * 8));
  }

  static void fill(Region region, long seed) {
    MemorySegment memory = region.segment();
    for (long i = 0; i < region.length(); i++) {
      memory.set(ValueLayout.JAVA_BYTE, i, at(seed, i));
    }
  }

  static void canary(Region region) {
    region.segment().fill(CANARY);
  }

  /** Checks {@code length} bytes at {@code offset} against the pattern of {@code seed} from {@code position} on. */
  static void check(Region region, long offset, long length, long seed, long position) {
    MemorySegment memory = region.segment();
    for (long i = 0; i < length; i++) {
      if (memory.get(ValueLayout.JAVA_BYTE, offset + i) != at(seed, position + i)) {
        throw new AssertionError(
            "byte " + i + " of " + length + " at " + offset + " is not that of position " + (position + i));
      }
    }
  }

  static void checkCanary(Region region, long offset, long length) {
    MemorySegment memory = region.segment();
    for (long i = offset; i < offset + length; i++) {
      if (memory.get(ValueLayout.JAVA_BYTE, i) != CANARY) {
        throw new AssertionError("byte " + i + " was overwritten");
      }
    }
  }

  static byte[] copy(Region region) {
    assertThat(region.length()).isLessThan(1L << 30);
    return region.segment().toArray(ValueLayout.JAVA_BYTE);
  }
}
