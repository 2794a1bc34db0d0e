/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.NativeCallException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The Linux calls that only this transport makes: pipes that serve as bells, and permission to be reached.
 *
 * <p>Source: pipe(2), read(2), write(2), poll(2), prctl(2). Thread-safe.
 */
public final class MappedCalls {
  public static final int O_WRONLY = 1;
  public static final int O_NONBLOCK = 0x800;
  private static final int O_CLOEXEC = 0x80000;

  private static final int PR_SET_PTRACER = 0x59616d61;

  private MappedCalls() {}

  /**
   * The two ends of a pipe; neither blocks.
   *
   * @param readEnd descriptor to read from
   * @param writeEnd descriptor to write to
   */
  public record Pipe(int readEnd, int writeEnd) {}

  /**
   * Makes a pipe whose ends do not block and are closed on exec.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EMFILE}
   */
  public static Pipe pipe() {
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment fds = arena.allocate(ValueLayout.JAVA_INT, 2);
      int rc = (int) systemCall(MappedBindings.PIPE2, errno, fds.address(), O_NONBLOCK | O_CLOEXEC);
      if (rc < 0) {
        throw new NativeCallException("pipe2", Errno.of(errno));
      }
      return new Pipe(fds.getAtIndex(ValueLayout.JAVA_INT, 0), fds.getAtIndex(ValueLayout.JAVA_INT, 1));
    }
  }

  /** Reads up to {@code bytes} bytes; returns how many, 0 at the end, or the error number, negative. */
  public static long read(int fd, long address, long bytes) {
    MemorySegment errno = Errno.capture();
    long rc = systemCall(MappedBindings.READ, errno, fd, address, bytes);
    return rc < 0 ? -Errno.of(errno) : rc;
  }

  /** Writes up to {@code bytes} bytes; returns how many, or the error number, negative. */
  public static long write(int fd, long address, long bytes) {
    MemorySegment errno = Errno.capture();
    long rc = systemCall(MappedBindings.WRITE, errno, fd, address, bytes);
    return rc < 0 ? -Errno.of(errno) : rc;
  }

  /** Looks at {@code count} entries of {@code struct pollfd} without waiting; returns how many are ready, or −errno. */
  public static int pollNow(long pollfds, long count) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(MappedBindings.POLL, errno, pollfds, count, 0);
    return rc < 0 ? -Errno.of(errno) : rc;
  }

  /**
   * Lets another process copy from and to this one where Yama (kernel.yama.ptrace_scope = 1) allows it to descendants
   * only.
   *
   * @param pid that process, or −1 for all of this user's
   * @return 0, or the error number: {@code EINVAL} where the kernel has no Yama
   */
  public static int allowPtrace(long pid) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(MappedBindings.PRCTL, errno, PR_SET_PTRACER, pid, 0L, 0L, 0L);
    return rc < 0 ? Errno.of(errno) : 0;
  }
}
