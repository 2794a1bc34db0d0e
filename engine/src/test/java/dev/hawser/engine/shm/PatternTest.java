/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** The tests' pattern shows what it is there to show. */
class PatternTest {
  private static final long BYTES = 64 << 10;
  private static final long BLOCK = 4096;

  @Test
  void plantedCorruptionIsFound() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(BYTES);
      Pattern.fill(memory, 5);
      assertThat(Pattern.mismatch(memory, 0, 5)).isEqualTo(-1);
      assertThat(Pattern.mismatch(memory.asSlice(BLOCK), BLOCK, 5)).isEqualTo(-1);
      // Stale: of another round.
      assertThat(Pattern.mismatch(memory, 0, 6)).isNotEqualTo(-1);
      // Moved: a block that belongs elsewhere, by any distance.
      for (long from = BLOCK; from < BYTES; from += BLOCK) {
        assertThat(Pattern.mismatch(memory.asSlice(from, BLOCK), 0, 5)).isNotEqualTo(-1);
      }
      for (long shift = 1; shift < 64; shift++) {
        assertThat(Pattern.mismatch(memory.asSlice(shift, BLOCK), 0, 5)).isNotEqualTo(-1);
      }
      // Torn: the end of a block is of another round.
      MemorySegment other = arena.allocate(BYTES);
      Pattern.fill(other, 4);
      MemorySegment.copy(other, BYTES - 64, memory, BYTES - 64, 64);
      assertThat(Pattern.mismatch(memory, 0, 5)).isBetween(BYTES - 64, BYTES - 56);
      // One byte.
      Pattern.fill(memory, 5);
      memory.set(ValueLayout.JAVA_BYTE, 777, (byte) (memory.get(ValueLayout.JAVA_BYTE, 777) + 1));
      assertThat(Pattern.mismatch(memory, 0, 5)).isEqualTo(777);
    }
  }
}
