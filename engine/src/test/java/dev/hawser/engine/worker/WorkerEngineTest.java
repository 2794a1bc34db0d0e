/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.testkit.LoggedWarnings;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RemoteKey;
import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class WorkerEngineTest {
  private static final Duration SECOND = Duration.ofSeconds(5);
  private static final Duration LEASE = Duration.ofSeconds(2);

  private static final class Side extends SilentHandler implements AutoCloseable {
    final MemoryRegistry registry = MemoryRegistry.create();
    final Engine engine;
    final LinkedBlockingQueue<InboundNotification> notifications = new LinkedBlockingQueue<>();

    Side(String name, String transport) {
      this(name, transport, List.of(), "127.0.0.1:0");
    }

    Side(String name, String transport, List<String> rails, String... listen) {
      EngineConfig config =
          new EngineConfig(
              name,
              System.nanoTime(),
              List.of(listen),
              List.of(transport),
              rails,
              0,
              0,
              LEASE,
              LEASE.dividedBy(5),
              Duration.ofSeconds(5),
              Duration.ofMillis(20),
              1024,
              new byte[0],
              TlsConfig.OFF,
              Map.of());
      engine = Engine.start(config, registry, this);
    }

    PeerDescription description() {
      return new PeerDescription(
          engine.name(), engine.epoch(), engine.listenAddresses(), engine.transportDescriptions());
    }

    @Override
    public void notification(InboundNotification notification) {
      notifications.add(notification);
      notification.consumed();
    }

    @Override
    public void close() {
      engine.close();
      registry.close();
    }
  }

  static RemoteRegion remote(Region region) {
    Map<String, byte[]> keys = new TreeMap<>();
    for (RemoteKey key : region.remoteKeys()) {
      keys.put(key.transport(), key.bytes());
    }
    return new RemoteRegion(region.id(), region.address(), region.length(), region.device(), region.access(), keys);
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void movesBytesThenNotifies(String transport) throws Exception {
    try (Side target = new Side("target", transport);
        Side initiator = new Side("initiator", transport)) {
      Region to = target.registry.allocate(1 << 20, Access.REMOTE_READ_WRITE);
      Region from = initiator.registry.allocate(1 << 20, Access.LOCAL);
      for (int i = 0; i < from.length(); i++) {
        from.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >> 8)));
      }
      Link link = initiator.engine.connect(target.description());
      link.awaitUp(SECOND);
      TransferPlan plan =
          new TransferPlan(
              BlockPairs.of(BlockList.of(from.address(), 1 << 20), BlockList.of(to.address(), 1 << 20)),
              new Region[] {from},
              new RemoteRegion[] {remote(to)});
      Transfer write = link.prepare(Op.WRITE, plan).notification("done".getBytes(StandardCharsets.UTF_8));
      assertThat(write.postAndAwait(SECOND)).isTrue();
      assertThat(write.end()).isEqualTo(new TransferEnd.Done());
      InboundNotification n = target.notifications.poll(5, TimeUnit.SECONDS);
      assertThat(n).isNotNull();
      assertThat(to.segment().mismatch(from.segment())).isEqualTo(-1);
    }
  }

  /** Both sides have links to each other; that one closes is no fault, neither at once nor when its lease is over. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void whoLeavesInGoodOrderIsNoReasonToWarn(String transport) {
    LoggedWarnings warnings = LoggedWarnings.of("dev.hawser.engine");
    try (warnings; Side staying = new Side("staying", transport)) {
      Link there;
      try (Side leaving = new Side("leaving", transport)) {
        there = staying.engine.connect(leaving.description());
        there.awaitUp(SECOND);
        leaving.engine.connect(staying.description()).awaitUp(SECOND);
      }
      awaitThat(() -> there.state() == Link.State.CONNECTING);
      long leaseIsOver = System.nanoTime() + LEASE.multipliedBy(3).dividedBy(2).toNanos();
      while (System.nanoTime() - leaseIsOver < 0) {
        LockSupport.parkNanos(10_000_000);
      }
    }
    assertThat(warnings.messages()).isEmpty();
  }

  @Test
  void postsOnTheRailsAskedForAndNoOthers() {
    try (Side target = new Side("target", "tcp")) {
      assertThatThrownBy(() -> new Side("initiator", "tcp", List.of("eth9"), "127.0.0.1:0"))
          .isInstanceOf(EngineException.class).hasMessageContaining("unknown rail 'eth9'").hasMessageContaining("tcp:");
      try (Side initiator = new Side("initiator", "tcp", List.of("tcp:127.0.0.1"), "127.0.0.1:0", "127.0.0.2:0")) {
        Link link = initiator.engine.connect(target.description());
        link.awaitUp(SECOND);
        assertThat(link.paths()).isNotEmpty().allSatisfy(path -> assertThat(path.rail()).contains("127.0.0.1"));
      }
    }
  }

  /**
   * A target that polls all the time takes its worker's place: the worker neither sleeps in epoll, where each message
   * would have to wake it, nor fights for the links; soon after the last poll it serves them again by itself.
   */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void whoPollsAllTheTimeTakesTheWorkersPlace(String transport) throws Exception {
    try (Side target = new Side("polled", transport);
        Side initiator = new Side("initiator", transport)) {
      Region to = target.registry.allocate(4096, Access.REMOTE_READ_WRITE);
      Region from = initiator.registry.allocate(4096, Access.LOCAL);
      Link link = initiator.engine.connect(target.description());
      link.awaitUp(SECOND);
      Transfer write =
          link.prepare(
              Op.WRITE,
              new TransferPlan(
                  BlockPairs.of(BlockList.of(from.address(), 8), BlockList.of(to.address(), 8)),
                  new Region[] {from},
                  new RemoteRegion[] {remote(to)}))
              .notification(new byte[] {1});
      awaitThat(() -> isIn(worker("polled"), "Epoll"));

      AtomicBoolean over = new AtomicBoolean();
      Thread poller = Thread.ofPlatform().name("poller").start(() -> {
        while (!over.get()) {
          target.engine.poll();
        }
      });
      try {
        awaitThat(() -> isIn(worker("polled"), "LockSupport"));
        write.post();
        assertThat(target.notifications.poll(5, TimeUnit.SECONDS)).isNotNull();
        awaitThat(write::poll);
      } finally {
        over.set(true);
        poller.join();
      }

      awaitThat(() -> isIn(worker("polled"), "Epoll"));
      assertThat(write.postAndAwait(SECOND)).isTrue();
      assertThat(target.notifications.poll(5, TimeUnit.SECONDS)).isNotNull();
    }
  }

  private static void awaitThat(BooleanSupplier condition) {
    long deadline = System.nanoTime() + SECOND.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("time is over").isLessThan(deadline);
      Thread.onSpinWait();
    }
  }

  private static Thread worker(String engine) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("hawser-worker-" + engine))
        .findFirst()
        .orElseThrow();
  }

  private static boolean isIn(Thread thread, String type) {
    return Stream.of(thread.getStackTrace()).limit(6).anyMatch(frame -> frame.getClassName().endsWith(type));
  }

  /** Memory that nobody can touch stands for memory that was freed behind its region. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void memoryThatIsGoneFailsItsTransferAndNoOther(String transport) {
    long gone = PageMappings.map(1 << 20, 0, PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, -1, 0);
    try (Side target = new Side("target", transport);
        Side initiator = new Side("initiator", transport)) {
      Region unmapped = target.registry.register(gone, 1 << 20, Access.REMOTE_READ_WRITE);
      Region good = target.registry.allocate(1 << 20, Access.REMOTE_READ_WRITE);
      Region here = initiator.registry.allocate(1 << 20, Access.LOCAL);
      Link link = initiator.engine.connect(target.description());
      link.awaitUp(SECOND);

      Transfer bad = link.prepare(Op.READ, plan(here, unmapped));
      Transfer other = link.prepare(Op.WRITE, plan(here, good)).notification(new byte[] {1});
      bad.post();
      assertThat(other.postAndAwait(SECOND.multipliedBy(4))).isTrue();
      assertThat(other.end()).isEqualTo(new TransferEnd.Done());
      assertThat(bad.await(SECOND.multipliedBy(4))).isTrue();
      assertThat(bad.end())
          .isInstanceOfSatisfying(
              TransferEnd.Failed.class,
              end -> {
                assertThat(end.cause()).isEqualTo(TransferEnd.Cause.REMOTE_ACCESS);
                assertThat(end.message()).contains("the memory of region 2 ",
                    "at target is gone: its file was truncated");
              });
      assertThat(other.postAndAwait(SECOND.multipliedBy(4))).isTrue();
    } finally {
      PageMappings.unmap(gone, 1 << 20);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void whatIsPostedToAPeerThatHasClosedFailsSoon(String transport) {
    try (Side initiator = new Side("initiator", transport)) {
      Region here = initiator.registry.allocate(4096, Access.LOCAL);
      Side target = new Side("target", transport);
      Transfer write;
      try (target) {
        Region there = target.registry.allocate(4096, Access.REMOTE_READ_WRITE);
        Link link = initiator.engine.connect(target.description());
        link.awaitUp(SECOND);
        write = link.prepare(Op.WRITE, plan(here, there));
        assertThat(write.postAndAwait(SECOND)).isTrue();
      }
      for (int round = 0; round < 2; round++) {
        assertThat(write.postAndAwait(SECOND)).as("round %d ends", round).isTrue();
        assertThat(write.end())
            .isInstanceOfSatisfying(
                TransferEnd.Failed.class,
                end -> assertThat(end.cause()).isEqualTo(TransferEnd.Cause.PEER_LOST));
      }
    }
  }

  private static TransferPlan plan(Region here, Region there) {
    return new TransferPlan(
        BlockPairs.of(BlockList.of(here.address(), here.length()), BlockList.of(there.address(), there.length())),
        new Region[] {here},
        new RemoteRegion[] {remote(there)});
  }
}
