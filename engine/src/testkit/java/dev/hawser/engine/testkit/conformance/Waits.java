/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waiting with a deadline. */
final class Waits {
  /** For what must come, on a machine that may be very busy. */
  static final Duration PATIENCE = SuiteProperties.times(20);

  /** What a busy machine may add to a time that the engine promises. */
  static final Duration MARGIN = SuiteProperties.times(3);

  /** How long memory is watched that must not change. */
  static final Duration WATCH = Duration.ofMillis(150);

  private static final long STEP_NANOS = 200_000;

  private Waits() {}

  static void until(String what, BooleanSupplier condition) {
    until(PATIENCE, () -> what, condition);
  }

  static void until(Duration within, Supplier<String> what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + within.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + within.toMillis() + " ms: " + what.get());
      }
      LockSupport.parkNanos(STEP_NANOS);
    }
  }

  /** For moments too short for {@link #until}. */
  static void spin(BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + PATIENCE.toMillis() + " ms");
      }
      Thread.onSpinWait();
    }
  }

  /** Calls {@code check} again and again for a while. */
  static void during(Duration time, Runnable check) {
    long deadline = System.nanoTime() + time.toNanos();
    do {
      check.run();
      LockSupport.parkNanos(STEP_NANOS * 10);
    } while (System.nanoTime() - deadline < 0);
    check.run();
  }
}
