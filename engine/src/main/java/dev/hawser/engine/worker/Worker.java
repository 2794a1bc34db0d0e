/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.link.InboundLink;
import dev.hawser.engine.link.LinkHost;
import dev.hawser.engine.link.OutboundLink;
import dev.hawser.engine.net.Epoll;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.Region;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jctools.queues.MessagePassingQueue;
import org.jctools.queues.atomic.MpscUnboundedAtomicArrayQueue;

/**
 * The owner of some links. Its thread moves them while there is work and sleeps in epoll when there is none. A caller
 * that posts, polls or waits takes its place for a moment, by the {@code owned} token: a small request then needs no
 * hand-over at all. After a caller's visit the thread stays away from the descriptors for a while, so that it is not woken
 * by each answer that the caller takes itself.
 */
final class Worker implements LinkHost, Runnable, AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine");

  /** How long nothing must have happened before the thread sleeps. */
  private static final long SPIN_NANOS = 20_000;

  /** How long a waiting caller works itself before it leaves the wait to the thread. */
  private static final long CALLER_NANOS = 100_000;

  /** How long it tries to take the thread's place: parking, and being woken, would take longer. */
  private static final long ENTER_NANOS = 20_000;

  /**
   * How long altogether, while something has to be polled for: a hand-over would cost two wake-ups, and save nothing, since the
   * thread would poll as well.
   */
  private static final long POLLING_CALLER_NANOS = 20_000_000;

  /** How long the thread leaves the links to a caller that comes again and again. */
  private static final long LINGER_NANOS = 500_000;

  /** The same where peers may be waiting for what only this agent's own thread does when the caller stays away. */
  private static final long ANSWERING_LINGER_NANOS = 200_000;

  /** A caller that polls again within this time polls all the time: its poll takes the place of being woken. */
  private static final long AGAIN_NANOS = 100_000;

  /** How long the thread leaves alone what it does not get through. */
  private static final long TROUBLE_NANOS = 10_000_000;

  private static final long COMPLAINT_NANOS = 1_000_000_000L;

  private static final long MAX_SLEEP_NANOS = 1_000_000_000L;

  private final Epoll epoll = new Epoll();
  private final PathOpener opener;
  private final ScratchWords scratch;
  private final SplittableRandom random = new SplittableRandom();
  private final Thread thread;
  private final MessagePassingQueue<Runnable> commands = new MpscUnboundedAtomicArrayQueue<>(64);
  private final List<OutboundLink> outbound = new ArrayList<>();
  private final List<InboundLink> inbound = new ArrayList<>();
  private final Predicate<InboundLink> forget;

  private final AtomicBoolean owned = new AtomicBoolean();
  private volatile long lastCaller;
  private long lastPoll; // of a caller; owner only
  private long lastWork; // the thread only
  private String lastWhere = ""; // guarded by this, as are the next two
  private long lastComplaint;
  private long unsaid;
  /** The thread is in epoll, or about to be: set by the owner, cleared by whoever wakes the thread. */
  private volatile boolean asleep;
  private volatile boolean lingering;
  private volatile boolean wanted;
  private volatile boolean stopping;
  private volatile boolean answers;

  /**
   * A worker without links.
   *
   * @param forget drops a link from initiators' sight that nothing is held for; false if it is needed again
   */
  Worker(String name, PathOpener opener, Region scratchRegion, Predicate<InboundLink> forget) {
    this.forget = forget;
    this.opener = opener;
    this.scratch = new ScratchWords(scratchRegion);
    this.thread = Thread.ofPlatform().name(name).daemon(true).unstarted(this);
    this.lastCaller = System.nanoTime() - LINGER_NANOS;
    this.lastPoll = lastCaller;
  }

  void start() {
    thread.start();
  }

  void add(OutboundLink link) {
    tell(() -> outbound.add(link));
  }

  void add(InboundLink link) {
    tell(
        () -> {
          inbound.add(link);
          answers = true;
        });
  }

  private void tell(Runnable command) {
    commands.offer(command);
    wake();
  }

  // ------------------------------------------------------------------ the thread

  @Override
  public void run() {
    lastWork = System.nanoTime();
    while (!stopping) {
      try {
        round();
      } catch (RuntimeException | Error e) {
        // Without this thread all transfers of its links would stay as they are, whatever it was that one thing has met.
        complain(thread.getName(), e);
        LockSupport.parkNanos(this, TROUBLE_NANOS);
      }
    }
  }

  private void round() {
    if (leaveItToCallers()) {
      return;
    }
    if (!owned.compareAndSet(false, true)) {
      awaitLeave();
      return;
    }
    wanted = false;
    boolean sleep = false;
    long timeout = 0;
    try {
      int work = work();
      long now = System.nanoTime();
      if (work > 0) {
        lastWork = now;
      } else if (now - lastWork > SPIN_NANOS) {
        timeout = Math.min(nextTimer(now) - now, MAX_SLEEP_NANOS);
        sleep = timeout > 0 && arm();
        asleep = sleep;
      }
    } finally {
      owned.set(false);
    }
    if (!sleep) {
      makeWay();
      return;
    }
    try {
      epoll.await(timeout);
    } finally {
      asleep = false;
    }
    lastWork = System.nanoTime() - SPIN_NANOS / 2;
  }

  /** Spins, but not on a core for which the peer may be waiting: with two cores that halved the round trip. */
  @SuppressWarnings("ThreadPriorityCheck") // a hint, nothing depends on it
  private static void makeWay() {
    Thread.yield();
  }

  private boolean leaveItToCallers() {
    long linger = answers ? ANSWERING_LINGER_NANOS : LINGER_NANOS;
    if (wanted || System.nanoTime() - lastCaller >= linger) {
      return false;
    }
    lingering = true;
    if (!wanted && !stopping) {
      LockSupport.parkNanos(this, linger);
    }
    lingering = false;
    return true;
  }

  /**
   * A caller is at it, and may be for long: a device in software, or a copy, does its work within the post. To spin
   * meanwhile would take half of the core from it where there is one. The links are left to it as after a caller's visit;
   * if the thread is wanted, the caller wakes it on leaving.
   */
  private void awaitLeave() {
    lingering = true;
    if (owned.get() && !stopping) {
      LockSupport.parkNanos(this, answers ? ANSWERING_LINGER_NANOS : LINGER_NANOS);
    }
    lingering = false;
  }

  /** Moves everything; owner only. */
  private int work() {
    int work = 0;
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      command.run();
      work++;
    }
    for (int i = outbound.size() - 1; i >= 0; i--) {
      OutboundLink link = outbound.get(i);
      try {
        work += link.doWork();
      } catch (RuntimeException | Error e) {
        complain("link to " + link.peer(), e);
        link.crashed(e);
        work++;
      }
      if (link.isGone()) {
        outbound.remove(i);
      }
    }
    for (int i = 0; i < inbound.size(); i++) {
      InboundLink link = inbound.get(i);
      try {
        work += link.doWork();
      } catch (RuntimeException | Error e) {
        complain("link from " + link.initiator(), e);
        link.crashed(e);
        work++;
      }
      if (link.isForgettable() && forget.test(link)) {
        inbound.remove(i--);
        answers = !inbound.isEmpty();
      }
    }
    return work;
  }

  private long nextTimer(long now) {
    long next = now + MAX_SLEEP_NANOS;
    for (int i = 0; i < outbound.size(); i++) {
      next = Math.min(next - now, outbound.get(i).nextTimer() - now) + now;
    }
    for (int i = 0; i < inbound.size(); i++) {
      InboundLink link = inbound.get(i);
      long timer = link.isBusy() ? now + 100_000 : link.nextTimer();
      next = Math.min(next - now, timer - now) + now;
    }
    return next;
  }

  private boolean arm() {
    if (!commands.isEmpty()) {
      return false;
    }
    for (int i = 0; i < outbound.size(); i++) {
      OutboundLink link = outbound.get(i);
      try {
        if (!link.arm()) {
          return false;
        }
      } catch (RuntimeException | Error e) {
        complain("link to " + link.peer(), e);
        link.crashed(e);
        return false;
      }
    }
    for (int i = 0; i < inbound.size(); i++) {
      InboundLink link = inbound.get(i);
      try {
        if (!link.arm()) {
          return false;
        }
      } catch (RuntimeException | Error e) {
        complain("link from " + link.initiator(), e);
        link.crashed(e);
        return false;
      }
    }
    return true;
  }

  /** Says what was thrown where, once in a while: it may be thrown in each round. Any thread. */
  private synchronized void complain(String where, Throwable what) {
    long now = System.nanoTime();
    if (where.equals(lastWhere) && now - lastComplaint < COMPLAINT_NANOS) {
      unsaid++;
      return;
    }
    LOG.log(Level.ERROR, unsaid == 0 ? where : "%s (%d more times before)".formatted(where, unsaid), what);
    unsaid = 0;
    lastComplaint = now;
    lastWhere = where;
  }

  /** For tests. */
  int inboundLinks() {
    while (!tryEnter()) {
      Thread.onSpinWait();
    }
    try {
      return inbound.size();
    } finally {
      leave(true);
    }
  }

  // ------------------------------------------------------------------ callers

  @Override
  public boolean tryEnter() {
    return !stopping && owned.compareAndSet(false, true);
  }

  @Override
  public boolean wantsThread(long now, BooleanSupplier arm) {
    if (isBusy()) {
      return true;
    }
    lastCaller = now;
    return asleep && !arm.getAsBoolean();
  }

  @Override
  public void leave(boolean more) {
    owned.set(false);
    if (more) {
      wake();
    } else if (wanted && lingering) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public boolean runUntil(BooleanSupplier condition, long deadlineNanos) {
    if (!enterSoon(condition)) {
      // It parks now: the thread must not leave the links to it.
      lastCaller = System.nanoTime() - LINGER_NANOS;
      return condition.getAsBoolean();
    }
    boolean held = false;
    boolean more = true;
    try {
      long start = System.nanoTime();
      long until = earlier(deadlineNanos, start + CALLER_NANOS);
      long longest = earlier(deadlineNanos, start + POLLING_CALLER_NANOS);
      long now = start;
      do {
        lastCaller = now;
        if (work() == 0) {
          makeWay();
        }
        held = condition.getAsBoolean();
        now = System.nanoTime();
        if (!held && now - until >= 0 && now - longest < 0 && !arm()) {
          until = earlier(longest, now + CALLER_NANOS);
        }
      } while (!held && !stopping && now - until < 0);
      boolean unfinished = !held || isBusy();
      lastCaller = unfinished ? now - LINGER_NANOS : now;
      more = unfinished || (asleep && !arm());
    } finally {
      leave(more);
    }
    return held;
  }

  /** Takes the token as soon as whoever has it lets go of it between two rounds; false if it does not, or need not be. */
  private boolean enterSoon(BooleanSupplier condition) {
    if (tryEnter()) {
      return true;
    }
    long start = System.nanoTime();
    do {
      if (condition.getAsBoolean() || stopping || System.nanoTime() - start >= ENTER_NANOS) {
        return false;
      }
      Thread.onSpinWait();
    } while (!tryEnter());
    return true;
  }

  private static long earlier(long one, long other) {
    return one - other < 0 ? one : other;
  }

  private boolean isBusy() {
    for (int i = 0; i < outbound.size(); i++) {
      if (outbound.get(i).isBusy()) {
        return true;
      }
    }
    return false;
  }

  /**
   * One round on the calling thread; 0 if somebody else is at it. Who polls all the time takes the thread's place: peers
   * then need not wake it, and it does not fight for the token, nor for a core where there are few.
   */
  int help() {
    if (!tryEnter()) {
      makeWay();
      return 0;
    }
    boolean more = true;
    int work = 0;
    try {
      long now = System.nanoTime();
      boolean again = now - lastPoll < AGAIN_NANOS;
      lastPoll = now;
      work = work();
      if (again) {
        lastCaller = now;
        more = asleep; // nothing is armed any more: it must wait for the caller's absence instead
        asleep = false;
      } else {
        more = work > 0 || !arm();
      }
    } finally {
      leave(more);
    }
    return work;
  }

  // ------------------------------------------------------------------ what links ask for

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public long random(long bound) {
    return bound <= 0 ? 0 : random.nextLong(bound);
  }

  @Override
  public PathOpener opener() {
    return opener;
  }

  @Override
  public WaitSet waitSet() {
    return epoll;
  }

  @Override
  public Region scratch() {
    return scratch.region();
  }

  @Override
  public int takeScratchWord() {
    return scratch.take();
  }

  @Override
  public void releaseScratchWord(int index) {
    scratch.release(index);
  }

  @Override
  public void wake() {
    wanted = true;
    epoll.wakeUp();
    if (lingering) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void log(Level level, String line) {
    LOG.log(level, line);
  }

  /** Ends the thread; of links that are not gone by then, nothing stays open that can be closed. */
  @Override
  public void close() {
    stopping = true;
    wake();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        if (thread.join(Duration.ofSeconds(5))) {
          break;
        }
        LOG.log(Level.WARNING, thread.getName() + " does not end; it is left behind");
        return;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      command.run(); // a link that came in the last moment may hold a connection
    }
    outbound.forEach(OutboundLink::abandon);
    inbound.forEach(InboundLink::abandon);
    epoll.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
