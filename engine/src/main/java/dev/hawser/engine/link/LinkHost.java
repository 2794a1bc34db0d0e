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

  /** Takes a word of {@link #scratch()}: its index, or −1 if none is free now. Owner only. */
  int takeScratchWord();

  /** Gives a word back. Owner only. */
  void releaseScratchWord(int index);

  /** Makes the owner run {@code doWork} soon. Any thread. */
  void wake();

  /** Makes the calling thread the owner if there is none; then {@link #leave} must follow. Never blocks. */
  boolean tryEnter();

  /**
   * Whether the worker has to go on when a caller leaves that has just moved a link. If nothing is under way it need not:
   * who posted once often posts again, and what it would watch for meanwhile would only wake it. Owner only.
   *
   * @param now this moment, or a little before
   * @param arm asks the link to wake the worker; asked only if nobody else would look: false if it has something already
   */
  boolean wantsThread(long now, BooleanSupplier arm);

  /**
   * Gives the ownership back.
   *
   * @param more whether the worker should go on at once
   */
  void leave(boolean more);

  /**
   * Works on the calling thread until the condition holds, if nobody else is at it; gives up after a short while, so
   * that a long wait is the worker's.
   *
   * @return true if the condition holds
   */
  boolean runUntil(BooleanSupplier condition, long deadlineNanos);

  /** One line for the log. */
  void log(System.Logger.Level level, String line);
}
