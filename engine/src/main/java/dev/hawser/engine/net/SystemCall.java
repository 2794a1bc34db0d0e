/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The frame around a system call: what it returns, or its negative error number. Calls that move bytes come with their
 * handle, which allocates nothing; the compiler inlines them where the handle is a constant.
 */
final class SystemCall {

  /** A call that returns an int, and writes {@code errno} to the segment. */
  @FunctionalInterface
  interface Call {
    int run(MemorySegment errno) throws Throwable;
  }

  private SystemCall() {}

  /** What it returns, or its negative error number. */
  static int result(Call call) {
    MemorySegment errno = Errno.capture();
    int rc;
    try {
      rc = call.run(errno);
    } catch (Throwable t) {
      throw unexpected(t);
    }
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

  /** A call of (descriptor, address, bytes, flags), again if a signal came in between. */
  static long moved(MethodHandle call, int fd, long address, long bytes, int flags) {
    MemorySegment errno = Errno.capture();
    while (true) {
      long n = systemCall(call, errno, fd, address, bytes, flags);
      if (n >= 0) {
        return n;
      }
      int error = Errno.of(errno);
      if (error != Errno.EINTR) {
        return -error;
      }
    }
  }

  /** A call of (descriptor, address, count or flags), again if a signal came in between. */
  static long moved(MethodHandle call, int fd, long address, int argument) {
    MemorySegment errno = Errno.capture();
    while (true) {
      long n = systemCall(call, errno, fd, address, argument);
      if (n >= 0) {
        return n;
      }
      int error = Errno.of(errno);
      if (error != Errno.EINTR) {
        return -error;
      }
    }
  }
}
