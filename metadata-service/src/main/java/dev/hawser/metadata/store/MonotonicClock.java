/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** Time that only goes forward; deadlines are made of it and compared by difference, never by order. */
@FunctionalInterface
public interface MonotonicClock {
  /** The clock of this process, {@link System#nanoTime()}. */
  MonotonicClock SYSTEM = System::nanoTime;

  /** Nanoseconds since an arbitrary instant. */
  long nanos();
}
