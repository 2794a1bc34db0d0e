/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.telemetry.Anomaly;
import org.junit.jupiter.api.Test;

class FlowWatchTest {
  @Test
  void whatIsWrongIsTold() {
    assertThat(FlowWatch.of(FlowWatch.idle(1, false) | FlowWatch.busy(false, 5, 9))).isEmpty();
    assertThat(FlowWatch.of(FlowWatch.idle(2, false))).containsExactly(Anomaly.HEAD_OF_LINE);
    assertThat(FlowWatch.of(FlowWatch.idle(0, true))).containsExactly(Anomaly.PEER_NOT_READY);
    assertThat(FlowWatch.of(FlowWatch.busy(false, 4, 9))).containsExactly(Anomaly.SLOW_RAIL);
    assertThat(FlowWatch.of(FlowWatch.busy(false, 4, 0))).as("nothing to compare with").isEmpty();
    assertThat(FlowWatch.of(FlowWatch.busy(true, 5, 9))).containsExactly(Anomaly.BACK_PRESSURE);
    assertThat(FlowWatch.of(FlowWatch.idle(3, true) | FlowWatch.busy(true, 1, 9)))
        .containsExactlyInAnyOrder(Anomaly.values());
  }

  @Test
  void aSmallChunkThatWaitedIsCounted() {
    PathPace pace = new PathPace(true);
    long now = 0;
    pace.posted(1 << 20, true, now);
    for (int i = 0; i < 8; i++) {
      now += 1_000_000;
      pace.acknowledged(1 << 20, 1_000_000, false, now); // about 1 GB/s
    }
    assertThat(pace.waits()).isZero();
    pace.acknowledged(4096, 2_000_000, false, now);
    assertThat(pace.waits()).as("twice the way is nothing").isZero();
    pace.acknowledged(4096, 50_000_000, false, now);
    assertThat(pace.waits()).isEqualTo(1);
    pace.forgetWaits();
    assertThat(pace.waits()).isZero();
  }

  @Test
  void aBusyPathOfWhichNothingIsHeardCountsAsSlower() {
    PathPace pace = new PathPace(true);
    pace.posted(1 << 20, true, 0);
    pace.acknowledged(1 << 20, 1_000_000, false, 1_000_000);
    pace.acknowledged(1 << 20, 1_000_000, false, 2_000_000);
    double rate = pace.rate(false, 2_000_000);
    assertThat(rate).isBetween(0.9e9, 1.1e9);
    assertThat(pace.rate(false, 102_000_000)).isLessThan(rate / 50);
    assertThat(pace.rate(true, 102_000_000)).as("an idle one is what it was").isEqualTo(rate);
  }
}
