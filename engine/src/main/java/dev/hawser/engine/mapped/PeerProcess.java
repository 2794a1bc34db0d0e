/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.Processes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The process at the other end, by a descriptor that never means another one. Used by one thread at a time.
 *
 * <p>A pidfd is readable once every thread of the process has ended, so nothing of it can store any more.
 */
public final class PeerProcess implements AutoCloseable {
  private static final short POLLIN = 0x1;
  private static final short POLLRDHUP = 0x2000;
  private static final int POLLFD_BYTES = 8;
  private static final int REVENTS = 6;
  private static final int DISCARDED_BYTES = 512;

  private final int pid;
  private final int pidfd;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pollfds = arena.allocate(2 * POLLFD_BYTES, 8);
  private final MemorySegment discarded = arena.allocate(DISCARDED_BYTES);
  private boolean dead;
  private boolean hungUp;

  private PeerProcess(int pid, int pidfd) {
    this.pid = pid;
    this.pidfd = pidfd;
    pollfds.set(ValueLayout.JAVA_INT, 0, pidfd);
    pollfds.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
    watchStream(-1);
  }

  /** Opens it; the caller verifies afterwards that it is the right one. */
  public static PeerProcess open(int pid) {
    return new PeerProcess(pid, Processes.openPidfd(pid));
  }

  public int pid() {
    return pid;
  }

  public int descriptor() {
    return pidfd;
  }

  /** Watches the stream over which the two met as well: the peer closes it when it closes the path. */
  public void watchStream(int fd) {
    pollfds.set(ValueLayout.JAVA_INT, POLLFD_BYTES, fd);
    pollfds.set(ValueLayout.JAVA_SHORT, POLLFD_BYTES + 4, (short) (POLLIN | POLLRDHUP));
  }

  /** Looks whether it ended or hung up: one system call. */
  public void look() {
    if (dead) {
      return;
    }
    pollfds.set(ValueLayout.JAVA_SHORT, REVENTS, (short) 0);
    pollfds.set(ValueLayout.JAVA_SHORT, POLLFD_BYTES + REVENTS, (short) 0);
    int ready = MappedCalls.pollNow(pollfds.address(), 2);
    if (ready > 0) {
      dead = pollfds.get(ValueLayout.JAVA_SHORT, REVENTS) != 0;
      short stream = pollfds.get(ValueLayout.JAVA_SHORT, POLLFD_BYTES + REVENTS);
      hungUp |= stream != 0 && (stream != POLLIN || isAtEnd());
    }
  }

  /** Reads what nobody asked for (a TLS session's tickets) until the stream is empty or ends. */
  private boolean isAtEnd() {
    int fd = pollfds.get(ValueLayout.JAVA_INT, POLLFD_BYTES);
    long n;
    do {
      n = MappedCalls.read(fd, discarded.address(), discarded.byteSize());
    } while (n == discarded.byteSize());
    return n == 0 || (n < 0 && n != -Errno.EAGAIN);
  }

  /** Whether it has ended: as the last look saw it, or looks now. */
  public boolean isDead() {
    look();
    return dead;
  }

  /** As the last look saw it. */
  public boolean wasDead() {
    return dead;
  }

  /** Whether the last look saw that the peer closed the stream. */
  public boolean hungUp() {
    return hungUp;
  }

  @Override
  public void close() {
    try {
      FileDescriptors.close(pidfd);
    } catch (NativeCallException e) {
      throw new IllegalStateException("the pidfd of process " + pid + " was closed by somebody else", e);
    } finally {
      arena.close();
    }
  }

  @Override
  public String toString() {
    return "process " + pid;
  }
}
