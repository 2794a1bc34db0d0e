/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The check that all figures rest on: each kind of damage is found, and called by its name. */
class PatternTest {
  private static final int BYTES = 64 << 10;

  private final Arena arena = Arena.ofShared();
  private final Pattern pattern = new Pattern(42);
  private final MemorySegment memory = arena.allocate(BYTES);

  @AfterEach
  void free() {
    arena.close();
  }

  private String explain(long generation) {
    long wrong = pattern.firstWrong(memory, 0, generation);
    assertThat(wrong).as("position of the damage").isNotNegative();
    return pattern.explain(memory, wrong, generation).explanation();
  }

  @Test
  void whatWasFilledIsRight() {
    pattern.fill(memory, 0, 3);

    assertThat(pattern.firstWrong(memory, 0, 3)).isEqualTo(-1);
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "1, 1", "3, 13", "7, 8", "8, 8", "5, 4099", "4096, 4096", "13, 8192"})
  void aPieceFitsTheWhole(int position, int length) {
    pattern.fill(memory, 0, 9);
    MemorySegment piece = memory.asSlice(position, length);
    assertThat(pattern.firstWrong(piece, position, 9)).isEqualTo(-1);

    piece.fill((byte) 0);
    pattern.fill(piece, position, 9);

    assertThat(pattern.firstWrong(memory, 0, 9)).isEqualTo(-1);
  }

  @ParameterizedTest
  @CsvSource({"0", "1", "4095", "32768", "65535"})
  void aSingleBitIsSeenWhereItIs(int position) {
    pattern.fill(memory, 0, 1);
    memory.set(ValueLayout.JAVA_BYTE, position, (byte) (memory.get(ValueLayout.JAVA_BYTE, position) ^ 0x10));

    assertThat(pattern.firstWrong(memory, 0, 1)).isEqualTo(position);
    assertThat(explain(1)).contains("byte " + position + ":").contains("torn or foreign");
  }

  @Test
  void swappedBlocksAreCalledMisplaced() {
    pattern.fill(memory, 0, 5);
    byte[] first = memory.asSlice(4096, 4096).toArray(ValueLayout.JAVA_BYTE);
    memory.asSlice(4096, 4096).copyFrom(memory.asSlice(20480, 4096));
    memory.asSlice(20480, 4096).copyFrom(MemorySegment.ofArray(first));

    assertThat(explain(5)).contains("byte 4096:").contains("belongs at byte 20480: misplaced, from this iteration");
  }

  @Test
  void aBlockOfAnEarlierIterationIsCalledStale() {
    pattern.fill(memory, 0, 7);
    pattern.fill(memory.asSlice(8192, 512), 8192, 5);

    assertThat(explain(7)).contains("byte 8192:").contains("belongs here but is from 2 iteration(s) ago: stale");
  }

  @Test
  void aBlockThatNeverCameIsSeen() {
    pattern.fill(memory, 0, 7);
    memory.asSlice(1024, 64).fill((byte) 0);

    assertThat(explain(7)).contains("byte 1024:").contains("never written by this run");
  }

  @Test
  void aShiftByOneByteIsSeen() {
    pattern.fill(memory, 0, 7);
    memory.asSlice(4097, 1000).copyFrom(memory.asSlice(4096, 1000));

    assertThat(pattern.firstWrong(memory, 0, 7)).isBetween(4097L, 4105L);
  }

  @Test
  void theEndOfAnOddLengthIsCompared() {
    MemorySegment odd = memory.asSlice(0, 13);
    pattern.fill(odd, 0, 1);
    odd.set(ValueLayout.JAVA_BYTE, 12, (byte) ~odd.get(ValueLayout.JAVA_BYTE, 12));

    assertThat(pattern.firstWrong(odd, 0, 1)).isEqualTo(12);
    assertThat(pattern.explain(odd, 12, 1).explanation()).contains("byte 12 holds");
  }

  @Test
  void wordsOfManyPlacesAndIterationsDiffer() {
    Set<Long> words = new HashSet<>();
    for (int generation = 0; generation < 16; generation++) {
      pattern.fill(memory, 0, generation);
      for (int offset = 0; offset < BYTES; offset += 8) {
        words.add(memory.get(ValueLayout.JAVA_LONG, offset));
      }
    }

    assertThat(words).hasSize(16 * BYTES / 8);
  }

  @Test
  void anotherSeedIsAnotherPattern() {
    pattern.fill(memory, 0, 1);

    assertThat(new Pattern(43).firstWrong(memory, 0, 1)).isEqualTo(0);
  }
}
