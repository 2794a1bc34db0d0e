/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.link.LinkSettings;
import dev.hawser.engine.link.OutboundLink;
import dev.hawser.engine.link.RailShares;
import dev.hawser.engine.link.Tier;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who moves a worker's links: its thread, or a caller in its place. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class WorkerTest {
  private static final String NAME = "worker-under-test";
  private static final String NOWHERE = "nowhere";
  private static final int LOOKS = 200;
  private static final int VISITS = 2000;
  private static final long PAUSE_NANOS = 1_000_000;

  /** A device in software sends within the post: a thread that spun meanwhile would take half of the only core from it. */
  @Test
  void theThreadLeavesTheProcessorToACallerThatStaysLong() {
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, (request, callback) -> {}, scratch, link -> true)) {
      worker.start();
      Thread thread = thread();
      while (!worker.tryEnter()) {
        Thread.onSpinWait();
      }
      worker.wake(); // awake, and with something to do
      long waiting = 0;
      // Its state and not its processor time: what a thread that spins gets of a busy machine may be little.
      for (int look = 0; look < LOOKS; look++) {
        LockSupport.parkNanos(PAUSE_NANOS);
        waiting += thread.getState() == Thread.State.TIMED_WAITING ? 1 : 0;
      }
      worker.leave(false);
      assertThat(waiting).as("looks of %s at which it waited", LOOKS).isGreaterThan(LOOKS / 2);
    }
  }

  /** Who waits for one of several requests comes back for the next: woken between, the thread would only take turns. */
  @Test
  void theThreadIsNotCalledByACallerThatComesBackToWhatIsUnderWay() {
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, (request, callback) -> {}, scratch, link -> true)) {
      worker.start();
      OutboundLink link = unanswered(worker);
      worker.add(link);
      Transfer transfer = link.prepare(DataRequest.Op.WRITE, plan(scratch)).timeout(Duration.ofMinutes(1));
      transfer.post(); // waits for a path, and so is under way
      long before = worker.calls();
      for (int visit = 0; visit < VISITS; visit++) {
        worker.runUntil(() -> true, System.nanoTime() + PAUSE_NANOS);
      }
      assertThat(worker.calls() - before).as("calls in %s visits", VISITS).isLessThan(VISITS / 10);

      before = worker.calls();
      for (int look = 0; look < LOOKS && worker.calls() == before; look++) {
        // It stays away; a busy machine may keep the thread from noticing at once.
        LockSupport.parkNanos(50 * PAUSE_NANOS);
        worker.runUntil(() -> true, System.nanoTime() + PAUSE_NANOS);
      }
      assertThat(worker.calls() - before).as("calls of who may stay away again").isEqualTo(1);
      transfer.cancel();
      assertThat(transfer.await(Duration.ofSeconds(10))).as("the cancelled transfer has ended").isTrue();
    }
  }

  private static OutboundLink unanswered(Worker worker) {
    Rail rail = new Rail(NOWHERE, "rail", 0, 0);
    Tier tier = new Tier(
        NOWHERE, new TransportTraits(false, false, 4096, 31, 0, 1, false), new byte[0],
        List.of(new Reachability.Route(rail, "there")), 1);
    return new OutboundLink(
        worker, LinkSettings.defaults(), new RailShares(), "here", 1,
        new PeerDescription("there", 1, List.of("127.0.0.1:1"), Map.of(NOWHERE, new byte[0])), List.of(tier), Map.of());
  }

  private static TransferPlan plan(Region local) {
    BlockList block = BlockList.of(local.address(), 64);
    RemoteRegion remote = new RemoteRegion(
        1, local.address(), 64, local.device(), Access.REMOTE_READ_WRITE, Map.of(NOWHERE, new byte[0]));
    return new TransferPlan(BlockPairs.of(block, block), new Region[] {local}, new RemoteRegion[] {remote});
  }

  private static Thread thread() {
    return Thread.getAllStackTraces().keySet().stream().filter(each -> each.getName().equals(NAME)).findAny()
        .orElseThrow();
  }
}
