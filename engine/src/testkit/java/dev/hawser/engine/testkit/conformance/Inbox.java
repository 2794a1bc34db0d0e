/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a target was told, and whether it was told it as {@link InboundHandler} says: one call at a time per peer, each
 * transfer delivered once, and none both delivered and aborted.
 */
final class Inbox implements InboundHandler {
  /** One arrival at a counter. */
  record Counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {}

  /** A transfer that will never be delivered. */
  record Aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {}

  /** A session that is over. */
  record Lost(String peer, long peerEpoch, String reason) {}

  private record Delivery(String peer, long peerEpoch, long transfer) {}

  private final BlockingQueue<InboundNotification> notifications = new LinkedBlockingQueue<>();
  private final List<Counted> counted = new CopyOnWriteArrayList<>();
  private final Map<Long, LongAdder> counters = new ConcurrentHashMap<>();
  private final List<Aborted> aborted = new CopyOnWriteArrayList<>();
  private final List<Lost> lost = new CopyOnWriteArrayList<>();
  private final Set<Delivery> delivered = ConcurrentHashMap.newKeySet();
  private final Map<String, AtomicInteger> inside = new ConcurrentHashMap<>();
  private final List<Throwable> violations = new CopyOnWriteArrayList<>();

  private volatile boolean consuming = true;
  private volatile Consumer<InboundNotification> atArrival = notification -> {};
  private volatile Runnable atCount = () -> {};

  /** Whether the credit of a notification is given back as soon as it arrives. */
  void consume(boolean consume) {
    consuming = consume;
  }

  /** Runs in the engine's call, before anything else; what it throws is a failure of the test. */
  void atArrival(Consumer<InboundNotification> check) {
    atArrival = check;
  }

  /** As {@link #atArrival}, for counts. */
  void atCount(Runnable check) {
    atCount = check;
  }

  // ------------------------------------------------------------------------------------------------ what is told

  @Override
  public void notification(InboundNotification notification) {
    told(
        notification.peer(),
        () -> {
          atArrival.accept(notification);
          Delivery delivery = new Delivery(notification.peer(), notification.peerEpoch(), notification.transfer());
          assertThat(delivered.add(delivery)).as("%s is delivered once", delivery).isTrue();
          assertThat(aborted).as("what was aborted is not delivered").noneMatch(a -> delivery(a).equals(delivery));
        });
    notifications.add(notification);
    if (consuming) {
      notification.consumed();
    }
  }

  @Override
  public void counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {
    told(peer, () -> atCount.run());
    counted.add(new Counted(peer, peerEpoch, counter, requestId));
    counters.computeIfAbsent(counter, c -> new LongAdder()).increment();
  }

  @Override
  public void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {
    Aborted told = new Aborted(peer, peerEpoch, transfer, requestId);
    told(
        peer,
        () -> {
          assertThat(delivered).as("what was delivered is not aborted").doesNotContain(delivery(told));
          assertThat(aborted).as("told once").doesNotContain(told);
        });
    aborted.add(told);
  }

  @Override
  public void peerLost(String peer, long peerEpoch, String reason) {
    told(peer, () -> assertThat(reason).as("why %s is lost", peer).isNotBlank());
    lost.add(new Lost(peer, peerEpoch, reason));
  }

  private void told(String peer, Runnable check) {
    AtomicInteger calls = inside.computeIfAbsent(peer, p -> new AtomicInteger());
    try {
      assertThat(calls.incrementAndGet()).as("calls at once for %s", peer).isEqualTo(1);
      check.run();
    } catch (RuntimeException | AssertionError e) {
      violations.add(e);
    } finally {
      calls.decrementAndGet();
    }
  }

  private static Delivery delivery(Aborted told) {
    return new Delivery(told.peer(), told.peerEpoch(), told.transfer());
  }

  // ------------------------------------------------------------------------------------------------ asking

  /** The next one. */
  InboundNotification next() {
    InboundNotification next;
    try {
      next = notifications.poll(Waits.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
    if (next == null) {
      check();
      throw new AssertionError("no notification within " + Waits.PATIENCE.toMillis() + " ms");
    }
    return next;
  }

  /** How many have come and were not asked for with {@link #next}. */
  int waiting() {
    return notifications.size();
  }

  long arrivals(long counter) {
    LongAdder adder = counters.get(counter);
    return adder == null ? 0 : adder.sum();
  }

  List<Counted> counted() {
    return counted;
  }

  List<Lost> lost() {
    return lost;
  }

  boolean wasAborted(long transfer) {
    return aborted.stream().anyMatch(told -> told.transfer() == transfer);
  }

  Aborted awaitAborted(String peer, long transfer) {
    Waits.until(peer + "'s transfer " + transfer + " is told to be aborted", () -> wasAborted(transfer));
    return aborted.stream().filter(told -> told.transfer() == transfer).findFirst().orElseThrow();
  }

  /** The first loss of a peer. */
  Lost awaitLost(String peer, Duration within) {
    awaitLosses(peer, 1, within);
    return lost.stream().filter(told -> told.peer().equals(peer)).findFirst().orElseThrow();
  }

  void awaitLosses(String peer, int count, Duration within) {
    Waits.until(
        within,
        () -> "%s is told to be lost %d times; told so far: %s".formatted(peer, count, lost),
        () -> losses(peer) >= count);
    assertThat(losses(peer)).as("losses of %s: %s", peer, lost).isEqualTo(count);
  }

  boolean isLost(String peer) {
    return losses(peer) > 0;
  }

  private long losses(String peer) {
    return lost.stream().filter(told -> told.peer().equals(peer)).count();
  }

  /** Fails if anything was not as the contract says. */
  void check() {
    if (!violations.isEmpty()) {
      AssertionError error =
          new AssertionError("the target was told things it must not be told", violations.getFirst());
      violations.stream().skip(1).limit(5).forEach(error::addSuppressed);
      throw error;
    }
  }

  /** Forgets what came, before the next test. */
  void clear() {
    consuming = true;
    atArrival = notification -> {};
    atCount = () -> {};
    notifications.clear();
    counted.clear();
    counters.clear();
  }
}
