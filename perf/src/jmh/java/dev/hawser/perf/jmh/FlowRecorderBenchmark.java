/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.jmh;

import dev.hawser.engine.telemetry.FlowRecorder;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What telemetry costs the data path for each chunk: the one call that is always made, whether or not anybody looks. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class FlowRecorderBenchmark {
  /** Nanoseconds from one chunk to the next: many in a millisecond, or each in one of its own. */
  @Param({"300", "1000000"})
  public long pause = 300;

  private final FlowRecorder recorder = new FlowRecorder();
  private long now;

  /** A chunk of 64 KiB that was under way for 20 µs. */
  @Benchmark
  public long chunk() {
    now += pause;
    recorder.completed(now, 65_536, 20_000);
    return now;
  }
}
