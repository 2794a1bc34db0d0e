/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.mapped.Bell;
import dev.hawser.engine.mapped.PathSegment;
import dev.hawser.engine.mapped.RecordReader;
import dev.hawser.engine.mapped.RecordWriter;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A sleeping end is woken, a polling one costs no system call. */
class ShmBellTest {
  private static final int PATIENCE_MILLIS = 20_000;

  private PathRig rig;
  private final Descriptors initiatorSet = new Descriptors();
  private final Descriptors targetSet = new Descriptors();

  @BeforeEach
  void open() {
    rig = new PathRig();
    rig.initiator.attach(initiatorSet);
    rig.target.attach(targetSet);
  }

  @AfterEach
  void close() {
    rig.close();
    assertThat(initiatorSet.fds).isEmpty();
    assertThat(targetSet.fds).isEmpty();
  }

  /** Remembers what was added. */
  private static final class Descriptors implements WaitSet {
    final List<Integer> fds = new ArrayList<>();

    @Override
    public void add(int fd, int interest) {
      fds.add(fd);
    }

    @Override
    public void modify(int fd, int interest) {
      throw new AssertionError("nothing to modify");
    }

    @Override
    public void remove(int fd) {
      assertThat(fds.remove(Integer.valueOf(fd))).isTrue();
    }
  }

  /** The bell is the first descriptor that a connection adds. */
  private static boolean rung(Descriptors set) {
    return Sockets.poll(set.fds.getFirst(), Sockets.POLLIN, 0) != 0;
  }

  @Test
  void onlySleepersAreRung() {
    assertThat(rig.initiator.postMessage(0, ByteBuffer.allocate(8))).isTrue();
    rig.initiator.flushPosted();
    assertThat(rung(targetSet)).isFalse();
    rig.pump();
    assertThat(rig.target.arm()).isTrue();
    assertThat(rung(targetSet)).isFalse();
    rig.initiator.postMessage(0, ByteBuffer.allocate(8));
    assertThat(rung(targetSet)).as("the doorbell waits for flushPosted").isFalse();
    rig.initiator.flushPosted();
    assertThat(rung(targetSet)).isTrue();
    rig.target.poll(rig.atTarget);
    assertThat(rung(targetSet)).isFalse();
    assertThat(rig.atTarget.messages).hasSize(2);
  }

  @Test
  void nobodySleepsOverWork() {
    rig.initiator.postMessage(0, ByteBuffer.allocate(8));
    assertThat(rig.target.arm()).isFalse();
    rig.pump();
    assertThat(rig.target.arm()).isTrue();
    rig.target.poll(rig.atTarget);

    Region here = PathRig.mapped(rig.here, 8 << 20, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 8 << 20, Access.REMOTE_READ_WRITE);
    rig.post(1, Op.WRITE, PathRig.plan(here, 0, there, 0, 8 << 20));
    assertThat(rig.initiator.arm()).as("the question must be sent").isFalse();
    rig.initiator.poll(rig.atInitiator);
    while (rig.initiator.poll(rig.atInitiator) > 0) {
      // until it waits for the grant
    }
    assertThat(rig.initiator.arm()).as("nothing to do before the grant").isTrue();
    rig.target.poll(rig.atTarget);
    assertThat(rung(initiatorSet)).as("the grant wakes it").isTrue();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.initiator.arm()).as("the request is half done").isFalse();
    rig.pump();
    assertThat(rig.atInitiator.has(1)).isTrue();
  }

  @Test
  void aCompletionThatWasNotPolledKeepsItAwake() {
    rig.initiator.postMessage(5, ByteBuffer.allocate(8));
    assertThat(rig.initiator.arm()).isTrue();
    rig.target.poll(rig.atTarget);
    assertThat(rung(initiatorSet)).as("its message was read").isTrue();
    assertThat(rig.initiator.arm()).isFalse();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.atInitiator.has(5)).isTrue();
    assertThat(rig.initiator.arm()).isTrue();
  }

  @Test
  void aClosingRegionWakesItsTargetAndTheInitiator() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    rig.post(1, Op.WRITE, PathRig.plan(here, 0, there, 0, 8));
    rig.pump();
    assertThat(rig.initiator.arm() && rig.target.arm()).isTrue();
    CompletableFuture<Void> close = CompletableFuture.runAsync(there::close);
    assertThat(Sockets.poll(targetSet.fds.getFirst(), Sockets.POLLIN, PATIENCE_MILLIS)).isNotZero();
    rig.target.poll(rig.atTarget);
    assertThat(rung(initiatorSet)).isTrue();
    rig.initiator.poll(rig.atInitiator);
    rig.pumpUntil(close::isDone);
    assertThat(close).isCompleted();
  }

  @Test
  void anAbortWakesThePeer() {
    assertThat(rig.target.arm()).isTrue();
    rig.initiator.abort();
    assertThat(rung(targetSet)).isTrue();
    rig.target.poll(rig.atTarget);
    assertThat(rig.atTarget.faults).hasSize(1);
  }

  @Test
  void whoeverWaitsForRoomIsWokenByReading() {
    while (rig.initiator.postMessage(0, ByteBuffer.allocate(5000))) {
      // until the ring is full
    }
    assertThat(rig.initiator.arm()).isTrue();
    assertThat(rung(initiatorSet)).isFalse();
    rig.target.poll(rig.atTarget);
    assertThat(rung(initiatorSet)).isTrue();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.initiator.postMessage(0, ByteBuffer.allocate(5000))).isTrue();

    rig.pump();
    rig.target.postMessage(9, ByteBuffer.allocate(8));
    rig.target.flushPosted();
    assertThat(rig.target.arm()).isTrue();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rung(targetSet)).as("the completion of a message wakes its sender").isTrue();
  }

  /** One side of the stress: answers every message, sleeping whenever it has nothing to do. */
  private static final class Player {
    private final Connection connection;
    private final int bell;
    private final int rounds;
    private final Random random;
    private final ByteBuffer message = ByteBuffer.allocateDirect(16);
    private int received;
    private int sleeps;

    Player(Connection connection, int bell, int rounds, long seed) {
      this.connection = connection;
      this.bell = bell;
      this.rounds = rounds;
      this.random = new Random(seed);
    }

    void play(boolean serves) {
      CountingEvents events = new CountingEvents();
      if (serves) {
        send();
      }
      while (received < rounds) {
        connection.poll(events);
        if (events.messages > received) {
          received++;
          if (received < rounds || !serves) {
            send();
          }
        } else if (random.nextInt(3) == 0 && connection.arm()) {
          sleeps++;
          if (Sockets.poll(bell, Sockets.POLLIN, PATIENCE_MILLIS) == 0) {
            throw new AssertionError("not woken after " + received + " messages and " + sleeps + " sleeps");
          }
        } else {
          for (int i = random.nextInt(20); i > 0; i--) {
            Thread.onSpinWait();
          }
        }
      }
    }

    private void send() {
      message.clear();
      if (!connection.postMessage(0, message)) {
        throw new AssertionError("a message did not fit");
      }
      connection.flushPosted();
    }
  }

  @Test
  void noWakeIsLost() throws Exception {
    int rounds = 30_000;
    Player serving = new Player(rig.initiator, initiatorSet.fds.getFirst(), rounds, 1);
    Player answering = new Player(rig.target, targetSet.fds.getFirst(), rounds, 2);
    CompletableFuture<Void> other = new CompletableFuture<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    answering.play(false);
                    other.complete(null);
                  } catch (Throwable t) {
                    other.completeExceptionally(t);
                  }
                });
    serving.play(true);
    other.get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    thread.join();
    assertThat(serving.sleeps).as("it did sleep").isGreaterThan(rounds / 20);
    assertThat(answering.sleeps).isGreaterThan(rounds / 20);
  }

  /**
   * The hand-shake alone, both steps at the same moment, many times: whoever parks sees the record, or whoever published
   * it sees the parked word. Without the two fences a processor's store buffer breaks this, where both threads have a
   * processor of their own.
   */
  @Test
  void parkingAndPublishingNeverMissEachOther() throws InterruptedException {
    long until = System.nanoTime() + Duration.ofSeconds(5).toNanos();
    int most = 300_000;
    AtomicInteger turn = new AtomicInteger();
    AtomicInteger parked = new AtomicInteger();
    int missed = 0;
    RecordWriter writer = rig.initiator.writer();
    RecordReader reader = rig.target.reader();
    PathSegment segment = rig.target.segment();
    Thread parking =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 1; awaitTurn(turn, i); i++) {
                    rig.target.bell().park(Bell.PARKED);
                    boolean seen = !reader.isEmpty();
                    parked.set(seen ? i : -i);
                  }
                });
    int rounds = 0;
    while (rounds < most && System.nanoTime() < until) {
      rounds++;
      assertThat(writer.writeFlush(rounds, false)).isTrue();
      turn.set(rounds);
      // The other needs a moment to see its turn: so that the two steps meet, now earlier, now later.
      for (int i = rounds & 7; i > 0; i--) {
        Thread.onSpinWait();
      }
      writer.publish(writer.written());
      rig.initiator.bell().due();
      rig.initiator.bell().ringIfDue();
      int outcome = parked.get();
      for (int spins = 1; Math.abs(outcome) != rounds; spins++) {
        pause(spins);
        outcome = parked.get();
      }
      boolean rung = segment.parked(PathSegment.Side.TARGET) == 0;
      if (outcome < 0 && !rung) {
        missed++;
      }
      rig.target.bell().unpark();
      while (!reader.isEmpty()) {
        reader.next();
        reader.consume();
      }
    }
    turn.set(-1);
    parking.join();
    assertThat(missed).as("missed of %d rounds", rounds).isZero();
    assertThat(rounds).isGreaterThan(100);
  }

  private static boolean awaitTurn(AtomicInteger turn, int wanted) {
    int now = turn.get();
    for (int spins = 1; now != wanted && now >= 0; spins++) {
      pause(spins);
      now = turn.get();
    }
    return now > 0;
  }

  /** Lets the other thread run where there are fewer processors than work. */
  @SuppressWarnings("ThreadPriorityCheck") // the result does not depend on it, only the number of rounds
  private static void pause(int spins) {
    if (spins % 2000 == 0) {
      Thread.yield();
    }
  }

  @Test
  void aFullRingWakesItsWriter() throws Exception {
    int messages = 20_000;
    CountingEvents atTarget = new CountingEvents();
    CompletableFuture<Void> reader =
        CompletableFuture
            .runAsync(() -> sleepUntil(rig.target, targetSet, atTarget, () -> atTarget.messages == messages));
    ByteBuffer message = ByteBuffer.allocateDirect(5000);
    CountingEvents atInitiator = new CountingEvents();
    int sent = 0;
    int sleeps = 0;
    while (sent < messages) {
      if (rig.initiator.postMessage(0, message)) {
        sent++;
      } else {
        rig.initiator.flushPosted();
        rig.initiator.poll(atInitiator);
        if (rig.initiator.arm()) {
          sleeps++;
          assertThat(Sockets.poll(initiatorSet.fds.getFirst(), Sockets.POLLIN, PATIENCE_MILLIS)).isNotZero();
        }
      }
    }
    rig.initiator.flushPosted();
    reader.get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    assertThat(sleeps).as("the ring was full at times").isPositive();
  }

  @Test
  void aTransferThatWaitsIsFinishedByTwoSleepers() throws Exception {
    // Each end has its own thread, which sleeps whenever it may: no step of the hand-shake may rely on polling.
    Region here = PathRig.mapped(rig.here, 1 << 20, Access.LOCAL);
    Pattern.fill(here.segment(), 3);
    int regions = 40;
    Region[] there = new Region[regions];
    TransferPlan[] plans = new TransferPlan[regions];
    for (int i = 0; i < regions; i++) {
      there[i] = PathRig.mapped(rig.there, 1 << 20, Access.REMOTE_READ_WRITE);
      plans[i] = PathRig.plan(here, 0, there[i], 0, 1 << 20);
    }
    CountingEvents atTarget = new CountingEvents();
    CompletableFuture<Void> target =
        CompletableFuture
            .runAsync(() -> sleepUntil(rig.target, targetSet, atTarget, () -> atTarget.flushes == regions));
    CountingEvents atInitiator = new CountingEvents();
    for (int i = 0; i < regions; i++) {
      int before = i + 1;
      assertThat(rig.post(i + 1, Op.WRITE, plans[i])).isTrue();
      rig.initiator.postFlush(0, i, false);
      rig.initiator.flushPosted();
      sleepUntil(rig.initiator, initiatorSet, atInitiator, () -> atInitiator.completed == before);
    }
    target.get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    assertThat(atInitiator.succeeded).isEqualTo(regions);
    for (Region region : there) {
      assertThat(Pattern.mismatch(region.segment(), 0, 3)).isEqualTo(-1);
    }
  }

  private static void sleepUntil(
      Connection connection, Descriptors set, CountingEvents events, BooleanSupplier done) {
    while (!done.getAsBoolean()) {
      connection.poll(events);
      if (!done.getAsBoolean()
          && connection.arm()
          && Sockets.poll(set.fds.getFirst(), Sockets.POLLIN, PATIENCE_MILLIS) == 0) {
        throw new AssertionError("not woken: " + connection.describe());
      }
    }
  }
}
