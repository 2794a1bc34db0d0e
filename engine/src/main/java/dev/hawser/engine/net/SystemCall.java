/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.MemorySegment;

/** The frame around a system call: what it returns, or its negative error number. */
final class SystemCall {

  /** A call that returns an int, and writes {@code errno} to the segment. */
  @FunctionalInterface
  interface Call {
    int run(MemorySegment errno);
  }

  private SystemCall() {}

  /** What it returns, or its negative error number. */
  static int result(Call call) {
    MemorySegment errno = Errno.capture();
    int rc = call.run(errno);
    return rc < 0 ? -Errno.of(errno) : rc;
  }

  /**
   * What it returns.
   *
   * @param name of the call
   * @param subject what it was about
   * @throws NetException if it failed
   */
  static int checked(String name, Object subject, Call call) {
    int result = result(call);
    if (result < 0) {
      throw new NetException(name, -result, subject.toString());
    }
    return result;
  }

  /** Whether a signal came in between, so that the call is to be made again. */
  static boolean interrupted(long result, MemorySegment errno) {
    return result < 0 && Errno.of(errno) == Errno.EINTR;
  }

  /** What the call returned, or its negative error number. */
  static long outcome(long result, MemorySegment errno) {
    return result < 0 ? -Errno.of(errno) : result;
  }
}
