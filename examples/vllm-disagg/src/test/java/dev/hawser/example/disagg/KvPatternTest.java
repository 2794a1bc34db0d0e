/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KvPatternTest {
  private final MemorySegment block = MemorySegment.ofArray(new long[512]);

  @Test
  void findsTheFirstByteThatDiffers() {
    KvPattern pattern = KvPattern.of("r", 3, Part.V, 5);
    pattern.writeTo(block);
    assertThat(pattern.firstDifference(block)).isEqualTo(-1);

    for (long at : new long[] {4095, 2051, 0}) {
      block.set(ValueLayout.JAVA_BYTE, at, (byte) (block.get(ValueLayout.JAVA_BYTE, at) ^ 0x80));
      assertThat(pattern.firstDifference(block)).isEqualTo(at / 8 * 8);
    }
  }

  @Test
  void dependsOnOwnerLayerPartAndPosition() {
    Set<KvPattern> patterns = new HashSet<>();
    int made = 0;
    for (String owner : new String[] {"", "r-1", "r-2", "poison of decode", "poison of prefill"}) {
      for (int layer = 0; layer < 32; layer++) {
        for (Part part : Part.values()) {
          for (int position = 0; position < 40; position++) {
            patterns.add(KvPattern.of(owner, layer, part, position));
            made++;
          }
        }
      }
    }
    assertThat(patterns).hasSize(made);
  }

  @Test
  void doesNotRepeatItselfWithinABlock() {
    KvPattern.of("r", 0, Part.K, 0).writeTo(block);
    Set<Long> words = new HashSet<>();
    for (long i = 0; i < 512; i++) {
      words.add(block.getAtIndex(ValueLayout.JAVA_LONG, i));
    }
    assertThat(words).hasSize(512);
  }

  @Test
  void seesAShiftedBlock() {
    KvPattern pattern = KvPattern.of("r", 0, Part.K, 0);
    pattern.writeTo(block);
    MemorySegment.copy(block.toArray(ValueLayout.JAVA_BYTE), 0, block, ValueLayout.JAVA_BYTE, 8, 4088);
    assertThat(pattern.firstDifference(block)).isEqualTo(8);
  }
}
