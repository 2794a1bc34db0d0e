/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.jmh;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.testkit.verbs.FakeVerbs;
import dev.hawser.engine.testkit.verbs.RawChain;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What the engine takes for one work request of 4 KiB over verbs, from the prepared transfer to its end. The device is a
 * fake that does all but move the bytes; {@link #fakeAlone} is its own share, to be subtracted from {@link #engine}. What
 * counts is {@code cpu.all}, the processor time of all threads, which {@link ThreadCpuProfiler} adds up.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class VerbsPostBenchmark {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int BLOCKS = 4096;
  private static final int CHAIN = 64;
  private static final int BLOCK_BYTES = 4096;

  /** On the one rail; with several a request goes by another one than that before. */
  @Param({"1", "8"})
  private int paths = 1;

  private Open state = Open.NONE;

  /** What a trial has open. */
  private record Open(FakeVerbs verbs, Agent initiator, Agent target, PreparedTransfer transfer, RawChain chain) {
    @SuppressWarnings("NullAway") // Before the trial there is nothing.
    static final Open NONE = new Open(null, null, null, null, null);
  }

  /** Starts both agents, prepares the transfer, and connects two queue pairs by hand. */
  @Setup(Level.Trial)
  public void open() {
    FakeVerbs verbs = new FakeVerbs(1);
    verbs.device(0).movesBytes(false);
    verbs.install();
    Agent target = Agent.builder(HawserConfig.builder().name("target").build()).start();
    Agent initiator = Agent
        .builder(HawserConfig.builder().name("initiator").transports("verbs").pathsPerRoute(paths).build()).start();
    long bytes = 2L * BLOCKS * BLOCK_BYTES;
    Region there = target.allocate("memory", bytes);
    Region here = initiator.allocate("memory", bytes);
    Peer peer = initiator.addPeer(target.metadata());
    peer.awaitConnected(TIMEOUT);
    PreparedTransfer transfer = initiator.prepare(Operation.WRITE, apart(here), peer, apart(there));
    state = new Open(verbs, initiator, target, transfer, new RawChain(verbs, CHAIN, BLOCK_BYTES));
  }

  /** Every second block: none follows another, so that each is a request of its own. */
  private static BlockList apart(Region region) {
    return BlockList.strided(region.address(), 2L * BLOCK_BYTES, BLOCK_BYTES, BLOCKS);
  }

  /** The engine and the fake. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public void engine() {
    state.transfer().postAndAwait(TIMEOUT);
  }

  /** The fake alone. */
  @Benchmark
  @OperationsPerInvocation(CHAIN)
  public void fakeAlone() {
    state.chain().run();
  }

  /** Ends everything. */
  @TearDown(Level.Trial)
  public void close() {
    state.chain().close();
    state.initiator().close();
    state.target().close();
    state.verbs().uninstall();
    state.verbs().close();
  }
}
