/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Each damage is seen by each check that looks at all bytes, whatever the size of the memory. */
class PlantTest {

  @ParameterizedTest
  @EnumSource(value = Plant.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void isFoundInMemoryOfAnySize(Plant plant) {
    Pattern pattern = new Pattern(7);
    try (Arena arena = Arena.ofConfined()) {
      for (long bytes : new long[] {16, 64, 4096, 4104, 65536, 1 << 20}) {
        MemorySegment memory = arena.allocate(bytes);
        pattern.fill(memory, 0, 2);
        assertThat(Sampled.firstWrong(pattern, memory, 2, Verify.FULL)).isEqualTo(-1);

        plant.damage(pattern, memory, 2);

        assertThat(Sampled.firstWrong(pattern, memory, 2, Verify.FULL)).as(plant + " in " + bytes).isNotNegative();
        assertThat(Sampled.firstWrong(pattern, memory, 2, Verify.NONE)).isEqualTo(-1);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"SWAP", "LOSE"})
  void theSampleLooksAtBothEnds(Plant plant) {
    Pattern pattern = new Pattern(7);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(1 << 20);
      pattern.fill(memory, 0, 2);
      plant.damage(pattern, memory, 2);

      assertThat(Sampled.firstWrong(pattern, memory, 2, Verify.SAMPLE)).isNotNegative();
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "3"})
  void theSampleIsAShareAndChanges(long generation) {
    long chosen = 0;
    for (long piece = 0; piece < 10_000; piece++) {
      chosen += Sampled.isChosen(piece, 10_000, generation) ? 1 : 0;
    }

    assertThat(chosen).isBetween(300L, 1500L);
  }
}
