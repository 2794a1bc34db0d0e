/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The rounds of a row, over directions that only keep a diary. */
class RowRunnerTest {
  private static final RowPlan FULL =
      new RowPlan(Op.WRITE, new RequestShape(1000, 1), 1, 1, 100, Verify.FULL, 0, Completion.CALLER,
          Duration.ofSeconds(1));
  private static final RowPlan SAMPLED =
      new RowPlan(Op.READ, new RequestShape(1000, 1), 1, 1, 100, Verify.SAMPLE, 0, Completion.CALLER,
          Duration.ofSeconds(1));
  private static final RowTiming TIMING = new RowTiming(Duration.ofMillis(2), Duration.ofMillis(5), 0);

  /** Each round has 100 requests and takes a millisecond. */
  private static class Diary implements Direction {
    final List<String> lines = new ArrayList<>();
    final String name;
    final Timings timings = Timings.empty();
    long bytes;
    @Nullable
    String failure;
    @Nullable
    String wrong;

    Diary(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public void prepare(RowPlan plan) {
      lines.add("prepare");
    }

    @Override
    public void arm(long generation) {
      lines.add("arm " + generation);
    }

    @Override
    public Round go(long nanos) {
      lines.add("go " + nanos);
      timings.record(10_000, 1000);
      bytes += 100_000;
      return new Round(100, Math.max(nanos, 1_000_000), failure);
    }

    @Override
    public @Nullable String check(long generation) {
      lines.add("check " + generation);
      return wrong;
    }

    @Override
    public void forget() {
      lines.add("forget");
      timings.clear();
    }

    @Override
    public Timings timings() {
      return timings;
    }

    @Override
    public RailBytes railBytes() {
      return new RailBytes(Map.of("fake:" + name, bytes), Map.of("fake:" + name, 1L));
    }

    @Override
    public void close() {
      lines.add("close");
    }
  }

  private final Diary a = new Diary("a -> b");
  private final Diary b = new Diary("b -> a");
  private long cpu;

  private RowRunner runner(Direction... directions) {
    return new RowRunner(List.of(directions), List.of("a", "b"), _ -> cpu += 1000, 0);
  }

  @Test
  void eachRoundIsArmedAndChecked() {
    RowRunner.Result result = runner(a).run(FULL, TIMING, _ -> {});

    assertThat(a.lines).containsExactly("prepare", "arm 1", "go 0", "check 1", "arm 2", "go 0", "check 2", "forget",
        "arm 3", "go 0", "check 3", "arm 4", "go 0", "check 4", "arm 5", "go 0", "check 5", "arm 6", "go 0", "check 6",
        "arm 7", "go 0", "check 7");
    assertThat(result.requests()).isEqualTo(500);
    assertThat(result.nanos()).isEqualTo(5_000_000);
    assertThat(result.timings().latency().getTotalCount()).isEqualTo(5);
    assertThat(result.rails()).containsExactly(new RailUse("fake:a -> b", 500_000, Map.of("paths_up", 1L)));
    assertThat(result.wrong()).isNull();
  }

  @Test
  void onlyTheTimeOfGoingCostsProcessor() {
    // Two nodes are asked before and after each of five rounds; the counter advances with each question.
    assertThat(runner(a).run(FULL, TIMING, _ -> {}).cpuNanos()).isEqualTo(5 * 4000);
  }

  @Test
  void aSampledRowIsOneLongRound() {
    RowRunner.Result result = runner(a).run(SAMPLED, TIMING, _ -> {});

    assertThat(a.lines).containsExactly("prepare", "arm 1", "go 2000000", "check 1", "forget", "arm 2", "go 5000000",
        "check 2");
    assertThat(result.nanos()).isEqualTo(5_000_000);
  }

  @Test
  void iterationsEndTheRowInPlaceOfTime() {
    List<Double> shares = new ArrayList<>();
    RowRunner.Result result =
        runner(a).run(SAMPLED, new RowTiming(Duration.ZERO, Duration.ofDays(1), 250), shares::add);

    assertThat(result.requests()).isEqualTo(300);
    assertThat(shares).containsExactly(100 / 250.0, 200 / 250.0, 1.0);
  }

  @Test
  void directionsThatGoAtOnceAreAddedUp() {
    RowRunner.Result result = runner(a, b).run(FULL, TIMING, _ -> {});

    assertThat(result.requests()).isEqualTo(1000);
    assertThat(result.nanos()).isEqualTo(5_000_000);
    assertThat(result.perDirection()).containsExactly(new Round(500, 5_000_000, null), new Round(500, 5_000_000, null));
    assertThat(result.rails()).extracting(RailUse::name).containsExactly("fake:a -> b", "fake:b -> a");
  }

  @Test
  void wrongBytesEndTheRow() {
    a.wrong = "byte 7 is wrong";
    RowRunner.Result result = runner(a).run(FULL, TIMING, _ -> {});

    assertThat(result.wrong()).isEqualTo("a -> b: wrong bytes after a write in round 1: byte 7 is wrong");
    assertThat(a.lines).containsExactly("prepare", "arm 1", "go 0", "check 1", "forget");
  }

  @Test
  void aFailedRequestEndsTheRow() {
    b.failure = "the peer was lost";
    RowRunner.Result result = runner(a, b).run(FULL, TIMING, _ -> {});

    assertThat(result.wrong()).isEqualTo("b -> a: the peer was lost");
    assertThat(a.lines).doesNotContain("check 1");
  }

  @Test
  void whatADirectionThrowsIsThrown() {
    Diary broken = new Diary("broken") {
      @Override
      public Round go(long nanos) {
        throw new BenchException("this node is gone");
      }
    };

    assertThatThrownBy(() -> runner(a, broken).run(FULL, TIMING, _ -> {})).isInstanceOf(BenchException.class)
        .hasMessage("this node is gone");
  }
}
