/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Watched handles that have ended and that nobody took yet, and the file descriptor that says so: for event loops.
 * Thread-safe.
 */
final class Ended {
  private static final System.Logger LOG = System.getLogger(Ended.class.getName());
  // ssize_t write(int fd, const void *buf, size_t count)
  private static final MethodHandle WRITE = NativeLibrary.process().systemCall("write", 3);
  private static final MemorySegment ONE = Arena.global().allocateFrom(ValueLayout.JAVA_LONG, 1L);

  private final ConcurrentLinkedQueue<Long> handles = new ConcurrentLinkedQueue<>();
  private volatile int descriptor = -1;

  /**
   * From now on ends are signalled there.
   *
   * @throws IllegalArgumentException if it is not open, or not for writing
   */
  void signalTo(int fd) {
    if (fd < -1 || (fd >= 0 && write(fd, 0) == -Errno.EBADF)) { // of nothing, so that nobody is woken by it
      throw new IllegalArgumentException("fd: " + fd
          + " is not open for writing; give an eventfd or the writing end of a pipe, or -1 for none");
    }
    descriptor = fd;
    if (fd >= 0 && !handles.isEmpty()) {
      signal(fd);
    }
  }

  void add(long handle) {
    handles.add(handle);
    int fd = descriptor;
    if (fd >= 0) {
      signal(fd);
    }
  }

  long take(long buffer, long capacity) {
    Foreign.notNegative(capacity, "capacity");
    long taken = 0;
    while (taken < capacity) {
      Long handle = handles.poll();
      if (handle == null) {
        break;
      }
      Foreign.putLong(Foreign.notNull(buffer, "handles") + taken * Long.BYTES, handle);
      taken++;
    }
    return taken;
  }

  private static void signal(int fd) {
    long rc = write(fd, Long.BYTES);
    // EAGAIN: the pipe is full, so that the loop has been told already. EPIPE: nobody reads it any more, as where a worker
    // ended and left transfers under way; whoever does not listen misses nothing.
    if (rc < 0 && rc != -Errno.EAGAIN && rc != -Errno.EPIPE) {
      LOG.log(Level.WARNING,
          "the end of a transfer cannot be signalled to file descriptor {0}: {1}; it is closed?",
          fd, Errno.describe((int) -rc));
    }
  }

  private static long write(int fd, long bytes) {
    MemorySegment errno = Errno.capture();
    long rc = systemCall(WRITE, errno, fd, ONE.address(), bytes);
    return rc < 0 ? -Errno.of(errno) : rc;
  }
}
