/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BlockOrderTest {

  private static RowPlan plan(int batch, int slots) {
    return new RowPlan(Op.WRITE, new RequestShape(4096, batch), 1, 1, slots, Verify.FULL, 0, Completion.CALLER,
        Duration.ofSeconds(1));
  }

  @Test
  void everyBlockIsTakenOnceOnBothSides() {
    BlockOrder order = new BlockOrder(plan(16, 8), 1);

    assertThat(IntStream.range(0, 8).flatMap(slot -> IntStream.of(order.localOf(slot)))).hasSize(128)
        .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 128).boxed().toList());
    assertThat(IntStream.range(0, 8).flatMap(slot -> IntStream.of(order.remoteOf(slot))))
        .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 128).boxed().toList());
    assertThat(order.isPlain()).isFalse();
  }

  @Test
  void theTwoSidesAreScatteredDifferentlyAndHardlyAdjacent() {
    BlockOrder order = new BlockOrder(plan(256, 4), 1);

    assertThat(order.localOf(0)).isNotEqualTo(order.remoteOf(0));
    int[] local = order.localOf(0);
    assertThat(IntStream.range(1, local.length).filter(i -> local[i] == local[i - 1] + 1).count()).isLessThan(16);
  }

  @Test
  void requestsOfOneBlockLieInOrder() {
    BlockOrder order = new BlockOrder(plan(1, 4), 1);

    assertThat(order.isPlain()).isTrue();
    assertThat(order.localOf(2)).containsExactly(2);
    assertThat(order.remoteOf(3)).containsExactly(3);
  }

  @ParameterizedTest
  @CsvSource({
      "4096, 1, 1, 1, 0, 4096", // many small ones
      "1048576, 1, 1, 4, 0, 256", // what fits the window
      "67108864, 1, 1, 4, 0, 4",
      "1073741824, 1, 1, 2, 0, 2", // larger than the window
      "4096, 256, 3, 4, 0, 255", // a multiple of the threads
      "4096, 1, 1, 1, 10, 10", // few are wanted
      "4096, 1, 2, 4, 3, 8", // as many as are under way
      "8, 100000, 1, 1, 0, 41"})
  void thereAreAsManySlotsAsMakeSense(long block, int batch, int threads, int depth, long iterations, int slots) {
    assertThat(RowPlan.slotsFor(new RequestShape(block, batch), threads, depth, iterations, RowPlan.WINDOW_BYTES))
        .isEqualTo(slots);
  }

  @Test
  void aThreadNeedsASlotForEachOfItsRequests() {
    assertThatThrownBy(() -> new RowPlan(Op.WRITE, new RequestShape(8, 1), 2, 4, 7, Verify.FULL, 0, Completion.CALLER,
        Duration.ofSeconds(1))).isInstanceOf(IllegalArgumentException.class);
  }
}
