/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class FlowRecorderTest {
  private static final long MS = 1_000_000;

  @Test
  void aWindowIsTheLastEight() {
    FlowRecorder flow = new FlowRecorder();
    assertThat(flow.lastEight()).isEqualTo(FlowWindow.EMPTY);
    for (int i = 1; i <= 100; i++) {
      flow.completed(i * 1_000L, i, 500);
    }

    FlowWindow eight = flow.lastEight();
    assertThat(eight.completions()).isEqualTo(8);
    assertThat(eight.bytes()).isEqualTo(93 + 94 + 95 + 96 + 97 + 98 + 99 + 100);
    assertThat(eight.nanos()).as("from the first post to the last completion").isEqualTo(7_500);
    assertThat(eight.meanLatencyNanos()).isEqualTo(500);
    assertThat(eight.bytesPerSecond()).isEqualTo(772 * 1e9 / 7_500);
  }

  @Test
  void aWindowIsTheLastWholeMillisecond() {
    FlowRecorder flow = new FlowRecorder();
    flow.completed(5 * MS + 1, 1_000, 10);
    flow.completed(5 * MS + 2, 3_000, 30);
    assertThat(flow.lastMillisecond(5 * MS + 3)).as("it is not over").isEqualTo(FlowWindow.EMPTY);

    FlowWindow window = flow.lastMillisecond(6 * MS);
    assertThat(window).isEqualTo(new FlowWindow(2, 4_000, MS, 20, 30));
    assertThat(window.bytesPerSecond()).isEqualTo(4e6);
    assertThat(flow.lastMillisecond(2_000 * MS)).as("long ago").isEqualTo(FlowWindow.EMPTY);

    flow.completed((5 + 64) * MS, 7, 1); // the same slot of the ring
    assertThat(flow.lastMillisecond(70 * MS)).isEqualTo(new FlowWindow(1, 7, MS, 1, 1));
  }

  @Test
  void whatIsReadBesideTheOwnerIsOfOneMoment() throws InterruptedException {
    FlowRecorder flow = new FlowRecorder();
    AtomicBoolean stop = new AtomicBoolean();
    Thread owner =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (long i = 1; !stop.get(); i++) {
                    flow.completed(i * 100, 64, 64);
                  }
                });
    try {
      for (int i = 0; i < 200_000; i++) {
        FlowWindow eight = flow.lastEight();
        if (eight.completions() == 8) {
          assertThat(eight).isEqualTo(new FlowWindow(8, 512, 764, 64, 64));
        }
      }
    } finally {
      stop.set(true);
      owner.join();
    }
  }
}
