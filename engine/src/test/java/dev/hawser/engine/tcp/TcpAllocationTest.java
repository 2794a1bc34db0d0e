/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Posting, serving and polling allocate nothing once they are warm. */
class TcpAllocationTest {
  private static final int ROUNDS = 2_000;

  @Test
  void theSteadyStateAllocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(1 << 20);
      Region remote = rig.allocate(1 << 20);
      TransferPlan plain = TcpRig.plan(local, 0, remote, 0, 64);
      BlockPairs pairs =
          BlockPairs.of(
              BlockList.strided(local.address(), 64, 32, 16), BlockList.strided(remote.address(), 96, 32, 16));
      TransferPlan blocks = TcpRig.plan(local, TcpRig.published(remote), pairs);
      ByteBuffer message = ByteBuffer.allocate(64);
      Counter counter = new Counter();

      // Interpreted code allocates what compiled code does not, and how soon the compiler comes to it depends on what else
      // the JVM and the machine have to do: hence until it is nothing, with a deadline.
      long least = Long.MAX_VALUE;
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (least >= ROUNDS && System.nanoTime() < deadline) {
        long before = threads.getCurrentThreadAllocatedBytes();
        round(rig, plain, blocks, message, counter, ROUNDS);
        least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
      }

      // Two calls of the bean itself allocate a little; one byte for each round would be 2,000.
      assertThat(least).isLessThan(ROUNDS);
    }
  }

  private static void round(
      TcpRig rig, TransferPlan plain, TransferPlan blocks, ByteBuffer message, Counter counter, int rounds) {
    for (int i = 1; i <= rounds; i++) {
      counter.completed = 0;
      rig.post(i, Op.WRITE, plain);
      rig.post(i, Op.READ, blocks);
      rig.initiator.postFlush(i, i, false);
      rig.initiator.postMessage(i, message);
      rig.target.postMessage(i, message);
      while (counter.completed < 5) {
        rig.initiator.flushPosted();
        rig.initiator.poll(counter);
        rig.target.poll(counter);
      }
    }
  }

  private static final class Counter implements ConnectionEvents {
    private int completed;

    @Override
    public void completed(Connection connection, long workId, WorkStatus status, long detail) {
      completed++;
    }

    @Override
    public void flushArrived(Connection connection, long transfer, boolean abort) {}

    @Override
    public void received(Connection connection, ByteBuffer message) {}

    @Override
    public void failed(Connection connection, PathFault fault) {
      throw new AssertionError(fault.toString());
    }
  }
}
