/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.Epoll;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;

/**
 * One path moved by two spinning threads, to be set beside {@code perf/peers/tcp_stream.c}, whose arguments it takes:
 * request bytes, memory bytes, seconds, block bytes, depth; then {@code read} for READs. Prints the same line.
 */
public final class TcpStreamBench {
  private TcpStreamBench() {}

  /** Runs it. */
  public static void main(String[] args) throws InterruptedException {
    long request = args.length > 0 ? Long.parseLong(args[0]) : 1 << 20;
    long memory = args.length > 1 ? Long.parseLong(args[1]) : 256 << 20;
    double seconds = args.length > 2 ? Double.parseDouble(args[2]) : 2;
    long block = args.length > 3 ? Long.parseLong(args[3]) : 0;
    int depth = args.length > 4 ? Integer.parseInt(args[4]) : 16;
    DataRequest.Op op = args.length > 5 && args[5].equals("read") ? DataRequest.Op.READ : DataRequest.Op.WRITE;
    MemoryRegistry registry = MemoryRegistry.create();
    Region local = registry.allocate(memory, Access.LOCAL);
    Region remote = registry.allocate(memory, Access.REMOTE_READ_WRITE);
    int[] pair = TcpRig.connect("127.0.0.1:0");
    TcpSettings settings = TcpSettings.DEFAULTS.with(Integer.getInteger("snd", 0), Integer.getInteger("rcv", 0), 0);
    settings.apply(pair[0]);
    settings.apply(pair[1]);
    InitiatorConnection initiator = new InitiatorConnection(new PathKey(0, 1), new TcpRig.Stream(pair[0], null),
        new PathStaging(new Staging(registry)), true);
    TargetConnection target = new TargetConnection(new PathKey(0, 1), new TcpRig.Stream(pair[1], null), registry,
        new PathStaging(new Staging(registry)), new LostMemory(registry), true);

    TransferPlan plan = plan(local, remote, request, block);
    Thread server =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  Counter counter = new Counter();
                  Sleeper sleeper = new Sleeper(target);
                  while (!counter.failed) {
                    sleeper.afterPoll(target.poll(counter));
                  }
                });
    Sleeper sleeper = new Sleeper(initiator);
    run(initiator, sleeper, plan, request, op, depth, 1.5);
    long cpu = cpuNanos();
    double[] figures = run(initiator, sleeper, plan, request, op, depth, seconds);
    System.out.printf(
        "%d %d %d %.6f %.3f%n", request, block, depth, figures[0], (cpuNanos() - cpu) / figures[1]);
    initiator.close();
    server.join(5000);
  }

  private static TransferPlan plan(Region local, Region remote, long request, long block) {
    if (block == 0) {
      return TcpRig.plan(local, 0, remote, 0, local.length() / request * request);
    }
    long count = local.length() / (2 * block);
    BlockPairs pairs =
        BlockPairs.of(
            BlockList.strided(local.address(), 2 * block, block, count),
            BlockList.strided(remote.address(), 2 * block, block, count));
    return TcpRig.plan(local, TcpRig.published(remote), pairs);
  }

  private static long cpuNanos() {
    return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory
        .getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** Sleeps when there has been nothing to do for a while. */
  private static final class Sleeper {
    private static final int SPINS = Integer.getInteger("spins", 20);
    private final Epoll epoll = new Epoll();
    private final Connection connection;
    private int idle;

    Sleeper(Connection connection) {
      this.connection = connection;
      connection.attach(epoll);
    }

    void afterPoll(int work) {
      idle = work > 0 ? 0 : idle + 1;
      if (idle > SPINS && connection.arm()) {
        epoll.await(100_000_000);
        idle = 0;
      }
    }
  }

  private static double[] run(
      InitiatorConnection initiator, Sleeper sleeper, TransferPlan plan, long request, DataRequest.Op op, int depth,
      double seconds) {
    DataRequest chunk = new DataRequest();
    Counter counter = new Counter();
    long positions = plan.totalBytes() / request;
    long posted = 0;
    long start = System.nanoTime();
    long end = start + (long) (seconds * 1e9);
    while (System.nanoTime() < end || counter.completed < posted) {
      while (posted - counter.completed < depth
          && System.nanoTime() < end
          && initiator.postData(
              posted + 1, chunk.set(op, 1, 0, plan, posted % positions * request, request))) {
        posted++;
      }
      initiator.flushPosted();
      sleeper.afterPoll(initiator.poll(counter));
      if (counter.failed) {
        throw new IllegalStateException("the path failed");
      }
    }
    double bytes = posted * (double) request;
    return new double[] {bytes / (System.nanoTime() - start), bytes};
  }

  private static final class Counter implements ConnectionEvents {
    private long completed;
    private boolean failed;

    @Override
    public void completed(Connection connection, long workId, WorkStatus status, long detail) {
      if (status != WorkStatus.SUCCESS) {
        throw new IllegalStateException("request " + workId + ": " + status);
      }
      completed++;
    }

    @Override
    public void flushArrived(Connection connection, long transfer, boolean abort) {}

    @Override
    public void received(Connection connection, ByteBuffer message) {}

    @Override
    public void failed(Connection connection, PathFault fault) {
      failed = true;
    }
  }
}
