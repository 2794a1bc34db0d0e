/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.perf.peers.Peer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ComparisonTest {
  private static final BenchPlan PLAN = new BenchPlan(List.of("shm"), List.of(Op.WRITE), false, MemoryKind.HOST,
      MemoryKind.HOST, List.of(new RequestShape(1 << 20, 1)), 1, 1, 0, Completion.CALLER, Verify.FULL,
      new RowTiming(Duration.ZERO, Duration.ofMillis(5), 0), Duration.ofSeconds(1), BenchPlan.USUAL_WINDOW_BYTES);

  private final List<String> failures = new ArrayList<>();
  private int measured;

  /** 2.097 GB/s, a little more each time. */
  private BenchRow ours(Op op, RequestShape shape, RowTiming timing, BenchListener listener, List<String> unused) {
    measured++;
    return new BenchRow("shm", op, false, "host", "host", shape.requestBytes(), shape.blockBytes(), shape.batch(), 1, 1,
        1000 + measured, 0.5, BenchReportTest.ROW.latency(), BenchReportTest.ROW.post(), 0, List.of(), Verify.FULL, 0);
  }

  @Test
  void bothRunInTurnAndAreCompared() {
    List<Peer> memcpy = Peer.all().stream().filter(peer -> peer.name().equals("memcpy")).toList();
    assumeTrue(memcpy.getFirst().missing().isEmpty(), () -> memcpy.getFirst().missing().orElse(""));
    Comparison comparison = new Comparison(PLAN, memcpy, 4, BenchListener.SILENT, failures);

    List<PeerRow> rows = comparison.compare(this::ours, "shm", Op.WRITE, PLAN.shapes().getFirst());

    assertThat(failures).isEmpty();
    assertThat(measured).isEqualTo(4);
    assertThat(rows).singleElement().satisfies(row -> {
      assertThat(row.name()).isEqualTo("memcpy");
      assertThat(row.metric()).isEqualTo("gbytes_per_s");
      assertThat(row.pairs()).isEqualTo(4);
      assertThat(row.ours().median()).isCloseTo(1002.5 * (1 << 20) / 0.5 / 1e9, within(1e-9));
      assertThat(row.peer().median()).isPositive();
      assertThat(row.ratio().low()).isLessThanOrEqualTo(row.ratio().high());
    });
  }

  @Test
  void whoHasNothingToCompareIsLeftOut() {
    Comparison comparison = new Comparison(PLAN, Peer.all(), 4, BenchListener.SILENT, failures);

    assertThat(comparison.compare(this::ours, "no-such-transport", Op.WRITE, PLAN.shapes().getFirst())).isEmpty();
    assertThat(measured).isZero();
  }
}
