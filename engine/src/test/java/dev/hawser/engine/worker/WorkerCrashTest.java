/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.OpenRequest;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.link.DepartedInitiator;
import dev.hawser.engine.link.InboundLink;
import dev.hawser.engine.link.LinkSettings;
import dev.hawser.engine.link.OutboundLink;
import dev.hawser.engine.link.RailShares;
import dev.hawser.engine.link.Tier;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.Greetings;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever a connection throws, and wherever: its own transfers end, all others go on, and the thread is there. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerCrashTest {
  private static final String NAME = "crashing-worker";
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final int SESSION = 4;

  /** Where a connection throws. */
  private enum Where {
    POLL, POST, ABORT, DRAINED, CLOSE, ARM, LOOK
  }

  private final Logger log = Logger.getLogger("dev.hawser.engine");
  private final AtomicInteger opened = new AtomicInteger();
  private volatile Supplier<Throwable> thrown = AssertionError::new;
  private volatile Set<Where> places = Set.of();
  private volatile int lastBad = Integer.MAX_VALUE;
  private volatile boolean unanswered; // what is posted on a bad path

  @BeforeEach
  void quiet() {
    log.setLevel(Level.OFF); // errors are what this is about
  }

  @AfterEach
  void loud() {
    log.setLevel(null);
  }

  /** Throws what it is told to, in some calls. */
  private class Path extends IdleConnection {
    private final List<Long> posted = new ArrayList<>();
    private final boolean bad;
    private boolean closed;

    Path(PathKey key, boolean bad) {
      super(key);
      this.bad = bad;
    }

    private void at(Where where) {
      if (bad && places.contains(where)) {
        WorkerCrashTest.<RuntimeException>raise(thrown.get());
      }
    }

    @Override
    public boolean postMessage(long workId, ByteBuffer message) {
      at(Where.POST);
      posted.add(workId);
      return true;
    }

    @Override
    public int poll(ConnectionEvents events) {
      at(Where.POLL);
      if (bad && unanswered) {
        return 0;
      }
      List<Long> done = List.copyOf(posted);
      posted.clear();
      done.forEach(workId -> events.completed(this, workId, WorkStatus.SUCCESS, 0));
      return done.size();
    }

    @Override
    public void abort() {
      at(Where.ABORT);
    }

    @Override
    public boolean drained() {
      at(Where.DRAINED);
      return true;
    }

    @Override
    public boolean arm() {
      at(Where.ARM);
      return posted.isEmpty() || (bad && unanswered);
    }

    @Override
    public void lookAtPeer() {
      at(Where.LOOK);
    }

    @Override
    public void close() {
      closed = true;
      at(Where.CLOSE);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void raise(Throwable what) throws T {
    throw (T) what;
  }

  private void open(OpenRequest request, Consumer<OpenResult> callback) {
    boolean bad = request.hello().target().equals("bad") && opened.incrementAndGet() <= lastBad;
    callback.accept(
        new OpenResult.Opened(
            new Path(request.hello().key(), bad), new Welcome(7, SESSION, 3000, 1024, 0)));
  }

  private static OutboundLink link(Worker worker, String target) {
    OutboundLink link =
        new OutboundLink(worker, LinkSettings.defaults(), new RailShares(), "here", 3,
            new PeerDescription(target, 7, List.of("192.0.2.1:1"), Map.of()),
            List.of(new Tier("sim", new TransportTraits(false, false, 8192, 64, 1 << 20, 1, 0), new byte[0],
                List.of(new Reachability.Route(new Rail("sim", "rail", 0, 0), "rail")), 1)),
            Map.of());
    worker.add(link);
    return link;
  }

  private static Transfer notification(OutboundLink link) {
    return link.prepare(
        Op.WRITE,
        new TransferPlan(
            BlockPairs.of(BlockList.of(64, 0), BlockList.of(64, 0)), new Region[0], new RemoteRegion[0]))
        .timeout(LONG)
        .notification(new byte[] {1});
  }

  private static void done(OutboundLink link) {
    Transfer transfer = notification(link);
    assertThat(transfer.postAndAwait(LONG)).isTrue();
    assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + LONG.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as("time is over").isNegative();
      Thread.onSpinWait();
    }
  }

  private static boolean threadIsThere() {
    return Thread.getAllStackTraces().keySet().stream().anyMatch(each -> each.getName().equals(NAME) && each.isAlive());
  }

  static Stream<Supplier<Throwable>> errors() {
    return Stream.of(
        AssertionError::new,
        () -> new IllegalStateException("planted"),
        () -> new OutOfMemoryError("planted"),
        () -> new NoClassDefFoundError("planted"));
  }

  @ParameterizedTest
  @MethodSource("errors")
  void anInitiatorsPathThatThrowsTakesItsLinkWithItAndNothingElse(Supplier<Throwable> error) {
    thrown = error;
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, this::open, scratch, link -> true)) {
      worker.start();
      for (Where where : Where.values()) {
        places = Set.of();
        unanswered = false;
        OutboundLink good = link(worker, "good");
        OutboundLink bad = link(worker, "bad");
        done(good);
        done(bad);

        unanswered = true;
        Transfer lost = notification(bad);
        lost.post();
        places = where == Where.POLL ? EnumSet.allOf(Where.class) : EnumSet.of(Where.POLL, where);
        worker.wake();
        assertThat(lost.await(LONG)).as("%s", where).isTrue();
        assertThat(lost.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
          assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.CLOSED);
          assertThat(failed.message()).contains("internal error", error.get().getClass().getName());
        });
        await(bad::isGone);
        assertThat(bad.state()).isEqualTo(Link.State.CLOSED);
        done(good);
        assertThat(threadIsThere()).isTrue();
        good.close();
      }
    }
  }

  /** What one connection throws then does not keep the others open. */
  @Test
  void whatIsLeftIsClosedWhenTheWorkerEnds() {
    places = EnumSet.of(Where.CLOSE);
    List<Path> paths = new ArrayList<>();
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, (request, callback) -> open(request, result -> {
          paths.add((Path) ((OpenResult.Opened) result).connection());
          callback.accept(result);
        }), scratch, link -> true)) {
      worker.start();
      done(link(worker, "bad"));
      done(link(worker, "good"));
    }
    assertThat(paths).hasSize(2).allMatch(path -> path.closed);
  }

  /** How the JVM tells of memory that is gone. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void memoryThatIsGoneEndsThePathAlone(int bad) {
    thrown = InternalError::new;
    places = Set.of(Where.POLL);
    lastBad = bad;
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, this::open, scratch, link -> true)) {
      worker.start();
      OutboundLink link = link(worker, "bad");
      done(link);
      assertThat(opened).hasValue(bad + 1);
      assertThat(threadIsThere()).isTrue();
      link.close();
    }
  }

  @ParameterizedTest
  @MethodSource("errors")
  void aTargetsPathThatThrowsEndsItsSessionAndNothingElse(Supplier<Throwable> error) throws InterruptedException {
    thrown = error;
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, this::open, scratch, link -> false)) {
      worker.start();
      OutboundLink good = link(worker, "good");
      for (Where where : Where.values()) {
        places = Set.of();
        CountDownLatch over = new CountDownLatch(1);
        InboundLink link =
            new InboundLink(worker, LinkSettings.defaults(), new RailShares(), new SilentHandler() {
              @Override
              public void notification(InboundNotification notification) {}

              @Override
              public void peerLost(String peer, long epoch, String reason) {
                over.countDown();
              }
            }, "initiator", 7, DepartedInitiator.NEVER_SEEN);
        worker.add(link);
        Greetings answer = new Greetings();
        Hello hello = new Hello("initiator", 3, "target", 7, 0, 1, new PathKey(1, 1), "sim", "rail");
        link.hello(hello, answer);
        worker.wake();
        await(() -> worker.runUntil(() -> !answer.isUnanswered(), System.nanoTime() + LONG.toNanos()));
        link.connected(hello, answer.welcome(), new Path(new PathKey(1, 1), true));
        worker.wake();
        done(good);

        places = where == Where.POLL ? EnumSet.allOf(Where.class) : EnumSet.of(Where.POLL, where);
        worker.wake();
        assertThat(over.await(LONG.toSeconds(), TimeUnit.SECONDS)).as("%s", where).isTrue();
        CountDownLatch told = new CountDownLatch(1);
        link.end(CloseKind.SESSION, "test", told::countDown);
        assertThat(told.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        done(good);
        assertThat(threadIsThere()).isTrue();
      }
      good.close();
    }
  }
}
