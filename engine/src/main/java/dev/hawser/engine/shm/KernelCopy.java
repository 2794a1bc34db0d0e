/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.ProcFiles;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.Processes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Copies between this process's memory and another's through the kernel, many pieces in one call. Used by one thread at a
 * time; allocates nothing.
 *
 * <p>Source: process_vm_readv(2), ptrace(2) ("Ptrace access mode checking").
 */
final class KernelCopy implements AutoCloseable {
  private static final int IOVEC_BYTES = 16;

  private final int pid;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment local = arena.allocate((long) Processes.IOV_MAX * IOVEC_BYTES, 8);
  private final MemorySegment remote = arena.allocate((long) Processes.IOV_MAX * IOVEC_BYTES, 8);
  private int count;

  KernelCopy(int pid) {
    this.pid = pid;
  }

  /** Whether this process may make the call at all, tried on itself: containers' system call filters may forbid it. */
  static boolean worksHere() {
    try (KernelCopy self = new KernelCopy(Processes.self());
        Arena arena = Arena.ofConfined()) {
      MemorySegment from = arena.allocateFrom(ValueLayout.JAVA_LONG, 42);
      MemorySegment to = arena.allocate(ValueLayout.JAVA_LONG);
      self.add(to.address(), from.address(), Long.BYTES);
      return self.run(false) == 0 && to.get(ValueLayout.JAVA_LONG, 0) == 42;
    }
  }

  /** Room for one more piece. */
  boolean isFull() {
    return count == Processes.IOV_MAX;
  }

  boolean isEmpty() {
    return count == 0;
  }

  /** Adds a piece to the next call. */
  void add(long localAddress, long remoteAddress, long bytes) {
    long at = (long) count * IOVEC_BYTES;
    local.set(ValueLayout.JAVA_LONG, at, localAddress);
    local.set(ValueLayout.JAVA_LONG, at + 8, bytes);
    remote.set(ValueLayout.JAVA_LONG, at, remoteAddress);
    remote.set(ValueLayout.JAVA_LONG, at + 8, bytes);
    count++;
  }

  /** Drops the pieces that were added. */
  void forget() {
    count = 0;
  }

  /**
   * Copies all pieces added since the last call.
   *
   * @param write from here to there, else from there to here
   * @return 0, or the error number; some pieces may have been copied
   */
  int run(boolean write) {
    int done = 0;
    try {
      while (done < count) {
        long at = (long) done * IOVEC_BYTES;
        long n = (long) count - done;
        long moved =
            write
                ? Processes.writeTo(pid, local.address() + at, n, remote.address() + at, n)
                : Processes.readFrom(pid, local.address() + at, n, remote.address() + at, n);
        if (moved < 0) {
          return (int) -moved;
        }
        if (moved == 0) {
          return Errno.EFAULT;
        }
        done = advance(done, moved);
      }
      return 0;
    } finally {
      count = 0;
    }
  }

  /** Skips what was moved: the kernel stops early at a page that is not there, and then says so on the next call. */
  private int advance(int from, long moved) {
    int index = from;
    long left = moved;
    while (left > 0) {
      long at = (long) index * IOVEC_BYTES;
      long bytes = remote.get(ValueLayout.JAVA_LONG, at + 8);
      if (left < bytes) {
        local.set(ValueLayout.JAVA_LONG, at, local.get(ValueLayout.JAVA_LONG, at) + left);
        local.set(ValueLayout.JAVA_LONG, at + 8, bytes - left);
        remote.set(ValueLayout.JAVA_LONG, at, remote.get(ValueLayout.JAVA_LONG, at) + left);
        remote.set(ValueLayout.JAVA_LONG, at + 8, bytes - left);
        return index;
      }
      left -= bytes;
      index++;
    }
    return index;
  }

  /** Why the kernel refused, in one line that a user can act on. */
  static String explain(int errno, int pid, ProcFiles proc) {
    String what = "copying to and from the memory of process " + pid + " failed: " + Errno.describe(errno);
    return switch (errno) {
      case Errno.EPERM -> what + "; " + permission(proc.setting("kernel/yama/ptrace_scope"));
      case Errno.ESRCH -> what + "; it has ended";
      case Errno.EFAULT ->
        what + "; registered memory is gone in one of the two processes: unmapped, or its file truncated";
      case Errno.ENOSYS -> what + "; this kernel was built without CONFIG_CROSS_MEMORY_ATTACH";
      default -> what;
    };
  }

  private static String permission(String ptraceScope) {
    return switch (ptraceScope) {
      case "", "0" ->
        "run both processes as the same user with the same capabilities, or give this one CAP_SYS_PTRACE"
            + " (docker run --cap-add SYS_PTRACE)";
      case "1" ->
        "kernel.yama.ptrace_scope is 1: leave the setting shm.allow-ptrace on at the peer, or set the sysctl to 0, or"
            + " give this process CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)";
      case "3" -> "kernel.yama.ptrace_scope is 3, which allows nobody: only a reboot changes it";
      default ->
        "kernel.yama.ptrace_scope is "
            + ptraceScope
            + ": set the sysctl to 0, or give this process CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)";
    };
  }

  @Override
  public void close() {
    arena.close();
  }
}
