/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

/**
 * Makes what the JVM says of a SIGBUS come in time. Memory by address whose page is gone, for the file behind it was
 * truncated or its file system is full, raises SIGBUS; HotSpot skips the access and owes the thread an {@code InternalError},
 * which it throws at a later safepoint poll. Compiled code polls where it returns and in loops, and after inlining that may be
 * far behind the handler that was meant to catch it. On the way back from a native method of the JDK what is owed is thrown at
 * once, from interpreted and compiled code alike; a downcall through a method handle has it noted only.
 *
 * <p>Source: HotSpot 25, {@code SharedRuntime::handle_unsafe_access}, {@code JavaThread::check_special_condition_for_native_trans},
 * {@code SharedRuntime::generate_native_wrapper}.
 */
public final class PendingFault {
  private static final Object NOBODYS_LOCK = new Object();

  private PendingFault() {}

  /**
   * The last statement of a {@code try} block around accesses by address. Takes some tens of nanoseconds, so it follows many
   * accesses rather than each.
   *
   * @throws InternalError if one of this thread's accesses since the last call met memory that is not there
   */
  public static void raise() {
    boolean _ = Thread.holdsLock(NOBODYS_LOCK); // the cheapest native method that nothing replaces by other code
  }
}
