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
 * A write of eight bytes with a notification, which the polling target answers in the same way: half of the time is what
 * a notification takes from the call that posts it until the target's poll returns it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class NotificationBenchmark {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final byte[] PAYLOAD = {1, 2, 3, 4, 5, 6, 7, 8};

  /** The transport's name. */
  @Param({"shm", "tcp"})
  public String transport = "shm";

  private volatile boolean over;
  private Side here = Side.NONE;
  private Side there = Side.NONE;
  private Thread echo = Thread.currentThread();

  /** One of the two agents, and its way to the other. */
  private record Side(Agent agent, PreparedTransfer ping) {
    @SuppressWarnings("NullAway") // Before the trial there is nothing.
    static final Side NONE = new Side(null, null);

    void send() {
      ping.postAndAwait(TIMEOUT);
    }
  }

  /** Starts both agents and the one that answers. */
  @Setup(Level.Trial)
  public void open() {
    Agent a = Agent.builder(HawserConfig.builder().name("a").transports(transport).build()).start();
    Agent b = Agent.builder(HawserConfig.builder().name("b").transports(transport).build()).start();
    Region memoryOfA = a.allocate("memory", 4096);
    Region memoryOfB = b.allocate("memory", 4096);
    here = new Side(a, ping(a, memoryOfA, a.addPeer(b.metadata()), memoryOfB));
    there = new Side(b, ping(b, memoryOfB, b.addPeer(a.metadata()), memoryOfA));
    over = false;
    echo = new Thread(this::echo, "echo");
    echo.start();
  }

  private static PreparedTransfer ping(Agent agent, Region from, Peer peer, Region to) {
    peer.awaitConnected(TIMEOUT);
    return agent.prepare(Operation.WRITE, BlockList.of(from.address(), 8), peer, BlockList.of(to.address(), 8))
        .notification(PAYLOAD);
  }

  private void echo() {
    while (!over) {
      if (there.agent().pollNotification() != null) {
        there.send();
      }
    }
  }

  /** There and back. */
  @Benchmark
  public void roundTrip() {
    here.send();
    while (here.agent().pollNotification() == null) {
      Thread.onSpinWait();
    }
  }

  /** Ends both. */
  @TearDown(Level.Trial)
  public void close() throws InterruptedException {
    over = true;
    echo.join(TIMEOUT);
    here.agent().close();
    there.agent().close();
  }
}
