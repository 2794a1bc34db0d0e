/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.Region;
import java.util.function.BooleanSupplier;

/** What a link needs of whoever runs it: a worker in production, the simulation in tests. */
public interface LinkHost {

  /** Monotonic time in nanoseconds. */
  long nanoTime();

  /** A random number from {@code [0, bound)}; owner only. */
  long random(long bound);

  PathOpener opener();

  /** Where connections register what they wait for. */
  WaitSet waitSet();

  /** Registered host memory of 8-byte words for reading grants' generations. */
  Region scratch();

  /** Takes a word of {@link #scratch()}: its index. Owner only. */
  int takeScratchWord();

  /** Gives a word back. Owner only. */
  void releaseScratchWord(int index);

  /** Makes the owner run {@code doWork} soon. Any thread. */
  void wake();

  /**
   * Runs the owner's work on the calling thread if nobody else is at it.
   *
   * @return how much was done, or −1 if somebody else is at it
   */
  int tryRun();

  /**
   * Works on the calling thread until the condition holds or the time is over, if nobody else is at
   * it.
   *
   * @return 1 if the condition holds, 0 if the time is over, −1 if somebody else is at it
   */
  int tryRunUntil(BooleanSupplier condition, long deadlineNanos);

  /** One line for the log. */
  void log(System.Logger.Level level, String line);
}
