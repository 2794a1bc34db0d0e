/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How many different requests a row gets. */
class BenchPlanTest {
  private static final RequestShape SHAPE = new RequestShape(4096, 1);

  private static RowPlan row(double rate, long iterations) {
    return row(rate, iterations, BenchPlan.USUAL_WINDOW_BYTES);
  }

  private static RowPlan row(double rate, long iterations, long window) {
    return new BenchPlan(List.of(), List.of(Op.WRITE), false, MemoryKind.HOST, MemoryKind.HOST, List.of(SHAPE), 1, 0,
        rate, Completion.CALLER, Verify.FULL, new RowTiming(Duration.ZERO, Duration.ofMillis(200), iterations),
        Duration.ofSeconds(1), window).row(Op.WRITE, SHAPE);
  }

  /** A round posts every slot once, at that rate: of 4,096 slots it would take 41 s. */
  @Test
  void aRateNeedsNoMoreSlotsThanFitIntoTheTime() {
    assertThat(row(100, 0).slots()).isEqualTo(20);
  }

  @Test
  void aSmallWindowIsGoneThroughAgainAndAgain() {
    assertThat(row(0, 0, 64 << 10).windowBytes()).isEqualTo(64 << 10);
    assertThat(row(0, 0, 1).slots()).as("one round").isEqualTo(1);
  }

  @Test
  void withoutOneTheWindowIsFilled() {
    assertThat(row(0, 0).slots()).isEqualTo(RowPlan.MAX_SLOTS);
    assertThat(row(0, 7).slots()).isEqualTo(7);
  }
}
