/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.engine.telemetry.Anomaly;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.FlowWindow;
import dev.hawser.engine.telemetry.PortReport;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class AgentMetricsTest {
  private static final Duration NEVER = Duration.ofDays(1);
  private static final Tags RAIL = Tags.of("agent", "prefill", "peer", "decode", "rail", "tcp:10.0.0.1");

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final AtomicReference<List<FlowReport>> flows = new AtomicReference<>(List.of());

  private static FlowReport path(int number, boolean up, long written, long read, long again, Anomaly... wrong) {
    long[] took = new long[LatencyCounts.bucket(1_000_000) + 1];
    took[took.length - 1] = 3;
    return new FlowReport("decode", "tcp", "10.0.0.1", "10.0.0.2", number, up, written, read, 4096, 0,
        FlowWindow.EMPTY, FlowWindow.EMPTY, LatencyCounts.of(took),
        Optional.of(new NetworkReport(again, 0, number * 1_000_000L, 0, 0)), Set.of(wrong), "");
  }

  @Test
  void countsByPeerAndRail() {
    flows.set(List.of(path(1, true, 1000, 10, 2, Anomaly.SLOW_RAIL), path(2, false, 500, 5, 1, Anomaly.SLOW_RAIL)));
    PortReport port = new PortReport("tcp:10.0.0.1", "eth0", Map.of("rx_dropped", 7L, "rx_bytes", 1_000_000L));
    try (AgentMetrics metrics = new AgentMetrics("prefill", flows::get, () -> List.of(port), NEVER)) {
      metrics.bindTo(registry);

      assertThat(registry.get("hawser.bytes.written").tags(RAIL).functionCounter().count()).isEqualTo(1500);
      assertThat(registry.get("hawser.bytes.read").tags(RAIL).functionCounter().count()).isEqualTo(15);
      assertThat(registry.get("hawser.bytes.in.flight").tags(RAIL).gauge().value()).isEqualTo(8192);
      assertThat(registry.get("hawser.paths").tags(RAIL.and("state", "up")).gauge().value()).isEqualTo(1);
      assertThat(registry.get("hawser.paths").tags(RAIL.and("state", "down")).gauge().value()).isEqualTo(1);
      assertThat(registry.get("hawser.path.anomalies").tags(RAIL.and("anomaly", "slow_rail")).gauge().value())
          .isEqualTo(2);
      assertThat(registry.get("hawser.path.anomalies").tags(RAIL.and("anomaly", "back_pressure")).gauge().value())
          .isZero();
      assertThat(registry.get("hawser.tcp.retransmitted").tags(RAIL).functionCounter().count()).isEqualTo(3);
      assertThat(registry.get("hawser.tcp.round.trip").tags(RAIL).timeGauge().value(TimeUnit.MILLISECONDS))
          .isEqualTo(2);
      assertThat(registry.get("hawser.chunk.latency").tags(RAIL).functionTimer().count()).isEqualTo(6);
      assertThat(registry.get("hawser.chunk.latency").tags(RAIL).functionTimer().mean(TimeUnit.MILLISECONDS))
          .isBetween(0.87, 1.13);
      assertThat(
          registry.get("hawser.port").tags("rail", "tcp:10.0.0.1", "port", "eth0", "counter", "rx_dropped")
              .functionCounter().count())
          .isEqualTo(7);
      assertThat(registry.find("hawser.port").tag("counter", "rx_bytes").functionCounter()).isNull();
    }
    assertThat(registry.getMeters()).as("none is left behind").isEmpty();
  }

  /** Each look is handed over, so that the one before has surely been seen. */
  @Test
  void goesOnWhenALinkIsMadeAnewAndForgetsPeersThatLeft() throws InterruptedException {
    SynchronousQueue<List<FlowReport>> next = new SynchronousQueue<>();
    AtomicBoolean over = new AtomicBoolean();
    flows.set(List.of(path(1, true, 1000, 0, 0)));
    try (AgentMetrics metrics =
        new AgentMetrics(
            "prefill",
            () -> {
              List<FlowReport> first = flows.getAndSet(List.of());
              return first.isEmpty() ? take(next, over) : first;
            },
            List::of,
            Duration.ofMillis(1))) {
      metrics.bindTo(registry);
      assertThat(registry.get("hawser.bytes.written").tags(RAIL).functionCounter().count()).isEqualTo(1000);

      hand(next, List.of(path(1, true, 200, 0, 0)));
      hand(next, List.of(path(1, true, 300, 0, 0)));
      assertThat(registry.get("hawser.bytes.written").tags(RAIL).functionCounter().count()).isBetween(1200.0, 1300.0);

      hand(next, List.of());
      hand(next, List.of());
      assertThat(registry.getMeters()).isEmpty();
      over.set(true);
    }
  }

  private static List<FlowReport> take(SynchronousQueue<List<FlowReport>> next, AtomicBoolean over) {
    try {
      while (!over.get()) {
        List<FlowReport> given = next.poll(10, TimeUnit.MILLISECONDS);
        if (given != null) {
          return given;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return List.of();
  }

  private static void hand(SynchronousQueue<List<FlowReport>> next, List<FlowReport> look) throws InterruptedException {
    assertThat(next.offer(look, 20, TimeUnit.SECONDS)).isTrue();
  }
}
