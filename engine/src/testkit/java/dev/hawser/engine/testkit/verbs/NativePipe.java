/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A pipe whose reading end is a descriptor that can be waited for, as that of a completion channel; messages are of a fixed
 * size. The reading end blocks unless its holder changes that. Thread-safe but for {@link #close}.
 */
final class NativePipe {
  private static final NativeLibrary C = NativeLibrary.process();
  private static final int O_NONBLOCK = 0x800;
  private static final int O_CLOEXEC = 0x80000;
  private static final int F_SETFL = 4;

  // int pipe2(int pipefd[2], int flags);
  private static final MethodHandle PIPE2 =
      C.functionWithErrno("pipe2", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
  // ssize_t read(int fd, void *buf, size_t count);
  private static final MethodHandle READ =
      C.functionWithErrno("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // ssize_t write(int fd, const void *buf, size_t count);
  private static final MethodHandle WRITE =
      C.functionWithErrno("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int close(int fd);
  private static final MethodHandle CLOSE = C.functionWithErrno("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  // int fcntl(int fd, int cmd, ...);
  private static final MethodHandle FCNTL =
      C.functionWithErrno("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);
  // int *__errno_location(void);
  private static final MethodHandle ERRNO_LOCATION =
      C.function("__errno_location", FunctionDescriptor.of(JAVA_LONG));

  private final int readEnd;
  private final int writeEnd;

  private NativePipe(int readEnd, int writeEnd) {
    this.readEnd = readEnd;
    this.writeEnd = writeEnd;
  }

  static NativePipe open() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ends = arena.allocate(8, 8);
      int rc = (int) PIPE2.invokeExact(Errno.capture(), ends.address(), O_CLOEXEC);
      if (rc != 0) {
        throw new IllegalStateException("pipe2: " + Errno.describe(Errno.of(Errno.capture())));
      }
      NativePipe pipe = new NativePipe(ends.get(JAVA_INT, 0), ends.get(JAVA_INT, 4));
      rc = (int) FCNTL.invokeExact(Errno.capture(), pipe.writeEnd, F_SETFL, O_NONBLOCK);
      if (rc != 0) {
        throw new IllegalStateException("fcntl: " + Errno.describe(Errno.of(Errno.capture())));
      }
      return pipe;
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int fd() {
    return readEnd;
  }

  /** Appends a message; false if the pipe is full. */
  boolean write(long message, int bytes) {
    try {
      return (long) WRITE.invokeExact(Errno.capture(), writeEnd, message, (long) bytes) == bytes;
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  /** Takes a message: 0, or the error number. */
  int read(long message, int bytes) {
    try {
      while (true) {
        long read = (long) READ.invokeExact(Errno.capture(), readEnd, message, (long) bytes);
        if (read == bytes) {
          return 0;
        }
        int errno = read < 0 ? Errno.of(Errno.capture()) : Errno.EBADF;
        if (errno != Errno.EINTR) {
          return errno;
        }
      }
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  void close() {
    try {
      int first = (int) CLOSE.invokeExact(Errno.capture(), readEnd);
      int second = (int) CLOSE.invokeExact(Errno.capture(), writeEnd);
      if (first != 0 || second != 0) {
        throw new IllegalStateException("a pipe of the fake was closed by others: descriptor " + readEnd);
      }
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  /** Sets errno as a C function does before it returns. */
  static void errno(int value) {
    try {
      long location = (long) ERRNO_LOCATION.invokeExact();
      RawMemory.u32(location, value);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }
}
