/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

class ReadPlacesTest {
  @Test
  void asManySegmentsAsTheTargetTakesAreUnderWay() {
    try (Arena arena = Arena.ofConfined()) {
      ReadPlaces reads = new ReadPlaces(arena.allocate(ReadPlaces.NATIVE_BYTES, 8).address());
      int slots = ReadService.SEGMENTS / FrameLayout.MAX_SEGMENTS;
      for (int i = 0; i < slots; i++) {
        assertThat(reads.free()).isGreaterThanOrEqualTo(FrameLayout.MAX_SEGMENTS);
        reads.add(0, 1 << 20); // one slot takes what comes of all of them
        reads.post(i, 1, 1, FrameLayout.MAX_SEGMENTS, 1 << 20, false);
      }

      assertThat(reads.free()).as("the target ends a path on which more are asked for").isZero();
      reads.end();
      assertThat(reads.free()).isEqualTo(FrameLayout.MAX_SEGMENTS);
    }
  }
}
