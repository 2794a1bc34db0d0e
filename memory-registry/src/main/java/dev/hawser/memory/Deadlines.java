/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.time.Duration;

/** Durations as nanoseconds to wait. */
final class Deadlines {
  private Deadlines() {}

  /** Nanoseconds of {@code deadline}: 0 if it is negative, 292 years if it does not fit. */
  static long nanos(Duration deadline) {
    if (deadline.isNegative()) {
      return 0;
    }
    return deadline.toSeconds() >= Long.MAX_VALUE / 1_000_000_000 ? Long.MAX_VALUE : deadline.toNanos();
  }
}
