/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts who uses something, and lets one wait until nobody does. Taking and giving back is lock-free; only the last use
 * of something that is closing takes the lock, to wake who waits.
 */
final class Uses {
  private static final int CLOSING = 1 << 31;
  private static final int COUNT = ~CLOSING;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Uses.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition idle = lock.newCondition();

  @SuppressWarnings("unused") // by STATE
  private volatile int state;

  /** Takes a use, unless it is closing. */
  boolean tryAcquire() {
    int seen = (int) STATE.getVolatile(this);
    while (seen >= 0) {
      if (seen == COUNT) {
        throw new IllegalStateException("a region is used 2^31 − 1 times: uses are taken and never given back");
      }
      int witness = (int) STATE.compareAndExchange(this, seen, seen + 1);
      if (witness == seen) {
        return true;
      }
      seen = witness;
    }
    return false;
  }

  /** Gives a use back. */
  void release() {
    int seen = (int) STATE.getVolatile(this);
    while (true) {
      if ((seen & COUNT) == 0) {
        throw new IllegalStateException("a use of a region was given back twice");
      }
      int witness = (int) STATE.compareAndExchange(this, seen, seen - 1);
      if (witness == seen) {
        break;
      }
      seen = witness;
    }
    if (seen == (CLOSING | 1)) {
      lock.lock();
      try {
        idle.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  /** Refuses uses from now on; true for the first call. */
  boolean startClosing() {
    return ((int) STATE.getAndBitwiseOr(this, CLOSING) & CLOSING) == 0;
  }

  boolean isClosing() {
    return (int) STATE.getVolatile(this) < 0;
  }

  int count() {
    return (int) STATE.getVolatile(this) & COUNT;
  }

  /** Waits until there is no use left, after {@link #startClosing}; gives the number left at the deadline. */
  int awaitIdle(Duration deadline) throws InterruptedException {
    if (count() == 0) {
      return 0;
    }
    long nanos = Deadlines.nanos(deadline);
    lock.lockInterruptibly();
    try {
      while (count() != 0 && nanos > 0) {
        nanos = idle.awaitNanos(nanos);
      }
      return count();
    } finally {
      lock.unlock();
    }
  }
}
