/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.jmh;

import dev.hawser.agent.Agent;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Two agents start, meet through the metadata service and connect. The warm-up iteration of each fork shows what a new
 * process pays, with every class to load; the others what one pays that has done it before.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 1)
@Measurement(iterations = 20)
@Fork(5)
public class ConnectBenchmark {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  /** The transport's name. */
  @Param({"shm", "tcp"})
  public String transport = "shm";

  private Meeting meeting = Meeting.NONE;
  private int round;

  /** The service, and the two agents of an iteration. */
  private record Meeting(MetadataService service, Agent initiator, Agent target) {
    @SuppressWarnings("NullAway") // Before the trial there is nothing.
    static final Meeting NONE = new Meeting(null, null, null);
  }

  /** Starts the service, which other processes would run. */
  @Setup(Level.Trial)
  public void open() {
    meeting =
        new Meeting(MetadataService.start(MetadataConfig.defaults()), Meeting.NONE.initiator(), Meeting.NONE.target());
  }

  private Agent start(String name) {
    return Agent.builder(
        HawserConfig.builder().name(name).metadata(meeting.service().uri().toString()).transports(transport).build())
        .start();
  }

  /** From nothing to a link that is up. */
  @Benchmark
  public void startAndConnect() {
    round++;
    Agent target = start("target-" + round);
    Agent initiator = start("initiator-" + round);
    initiator.peer(target.name(), TIMEOUT).awaitConnected(TIMEOUT);
    meeting = new Meeting(meeting.service(), initiator, target);
  }

  /** Ends both. */
  @TearDown(Level.Iteration)
  public void end() {
    meeting.initiator().close();
    meeting.target().close();
  }

  /** Ends the service. */
  @TearDown(Level.Trial)
  public void close() {
    meeting.service().close();
  }
}
