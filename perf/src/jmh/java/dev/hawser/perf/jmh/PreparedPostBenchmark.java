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
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A prepared write, posted and awaited again and again between two agents of this process. With {@code -prof gc} it
 * shows what the whole process allocates for a post: nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class PreparedPostBenchmark {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final int BLOCKS = 256;
  private static final long BLOCK_BYTES = 4096;

  /** The transport's name. */
  @Param({"shm", "tcp"})
  public String transport = "shm";

  /** A write of eight bytes, or of 256 scattered blocks of 4 KiB. */
  @Param({"8", "256x4K"})
  public String request = "8";

  private Open state = Open.NONE;

  /** What a trial has open. */
  private record Open(Agent initiator, Agent target, PreparedTransfer transfer) {
    @SuppressWarnings("NullAway") // Before the trial there is nothing.
    static final Open NONE = new Open(null, null, null);
  }

  /** Starts both agents and prepares the transfer. */
  @Setup(Level.Trial)
  public void open() {
    Agent target = Agent.builder(HawserConfig.builder().name("target").build()).start();
    Agent initiator =
        Agent.builder(HawserConfig.builder().name("initiator").transports(transport).build()).start();
    long bytes = 2 * BLOCKS * BLOCK_BYTES;
    Region there = target.allocate("memory", bytes);
    Region here = initiator.allocate("memory", bytes);
    Peer peer = initiator.addPeer(target.metadata());
    peer.awaitConnected(TIMEOUT);
    BlockList from = request.equals("8") ? BlockList.of(here.address(), 8) : every(here, 2);
    BlockList to = request.equals("8") ? BlockList.of(there.address(), 8) : every(there, 2);
    state = new Open(initiator, target, initiator.prepare(Operation.WRITE, from, peer, to));
  }

  private static BlockList every(Region region, int other) {
    return BlockList.strided(region.address(), other * BLOCK_BYTES, BLOCK_BYTES, BLOCKS);
  }

  /** Once more. */
  @Benchmark
  public void postAndAwait() {
    state.transfer().postAndAwait(TIMEOUT);
  }

  /** Ends both agents. */
  @TearDown(Level.Trial)
  public void close() {
    state.initiator().close();
    state.target().close();
  }
}
