/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Keeps calls of a driver that must not block apart from those that hold up all others: freeing and unpinning memory, and
 * closing that of other processes, wait until the device has done all that it was given, the user's work included, and let no
 * other call through meanwhile. A thread that must not block passes here first, and does something else if it cannot.
 * Thread-safe.
 */
public final class DriverGate {
  private static final long HOLDER = 1L << 32;

  private final AtomicLong state = new AtomicLong(); // high half: who holds it; low half: who passes

  DriverGate() {}

  /** Whether calls go through now; followed by {@link #passed} if so. */
  public boolean tryPass() {
    long now = state.get();
    while (now < HOLDER) {
      if (state.compareAndSet(now, now + 1)) {
        return true;
      }
      now = state.get();
    }
    return false;
  }

  /** The calls have been made. */
  public void passed() {
    state.decrementAndGet();
  }

  /** Makes a call that holds up all others, once those that passed are through, which takes microseconds. */
  void hold(Runnable call) {
    long now = state.addAndGet(HOLDER);
    while ((now & HOLDER - 1) != 0) {
      Thread.onSpinWait();
      now = state.get();
    }
    try {
      call.run();
    } finally {
      state.addAndGet(-HOLDER);
    }
  }
}
