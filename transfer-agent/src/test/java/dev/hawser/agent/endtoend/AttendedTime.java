/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The time during which this process was really served by its machine. A lease is about a peer that is silent, not about
 * a machine that lets nobody run: agents do not count such a time (nor may a test that holds them to it).
 */
final class AttendedTime implements AutoCloseable {
  private static final long TICK_NANOS = 5_000_000;
  /** What a tick may last and still count in full; of a longer one no more than that counts. */
  private static final long LONGEST_TICK_NANOS = 25_000_000;

  private final AtomicLong attended = new AtomicLong();
  private final Thread ticker = Thread.ofPlatform().daemon().name("attended-time").unstarted(this::tick);

  private AttendedTime() {}

  static AttendedTime begin() {
    AttendedTime time = new AttendedTime();
    time.ticker.start();
    return time;
  }

  private void tick() {
    long before = System.nanoTime();
    while (!Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(TICK_NANOS);
      long now = System.nanoTime();
      attended.addAndGet(Math.min(now - before, LONGEST_TICK_NANOS));
      before = now;
    }
  }

  Duration elapsed() {
    return Duration.ofNanos(attended.get());
  }

  @Override
  public void close() {
    ticker.interrupt();
  }
}
