/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waiting for a device by asking: a short spin, then pauses. A blocking call of a driver knows no deadline. */
final class Waits {
  private static final long SPIN_NANOS = 200_000;
  private static final long PAUSE_NANOS = 20_000;

  private Waits() {}

  /**
   * Waits until {@code done} says so.
   *
   * @throws GpuTimeoutException at the deadline
   */
  static void until(BooleanSupplier done, Duration deadline, Object what) {
    long start = System.nanoTime();
    long limit = deadline.toNanos();
    while (!done.getAsBoolean()) {
      long waited = System.nanoTime() - start;
      if (waited > limit) {
        throw new GpuTimeoutException(what + " is not done after " + deadline.toMillis()
            + " ms; is its device hung, or does it wait for a value that nobody writes?");
      }
      if (waited < SPIN_NANOS) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }
}
