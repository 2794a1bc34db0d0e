/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import java.lang.foreign.MemorySegment;

/**
 * Other processes of this machine: watching one by descriptor, and copying between its memory and ours.
 *
 * <p>Source: pidfd_open(2), process_vm_readv(2). Thread-safe. The copies allocate nothing.
 */
public final class Processes {
  /** The most {@code struct iovec} that one call takes on each side. */
  public static final int IOV_MAX = 1024;

  private static final long SYS_PIDFD_OPEN = 434; // the same on every architecture
  private static final int SELF = Math.toIntExact(ProcessHandle.current().pid());

  private Processes() {}

  /** The id of this process in its own pid namespace. */
  public static int self() {
    return SELF;
  }

  /** As which user this process acts. */
  public static int effectiveUser() {
    try {
      return (int) PosixBindings.Processes.GETEUID.invokeExact();
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * Opens a descriptor that becomes readable when the process ends, and that never means another process, even when the
   * number is used again.
   *
   * @return the descriptor, the caller's to close
   * @throws NativeCallException if Linux refuses; {@code ESRCH}: there is no such process
   */
  public static int openPidfd(int pid) {
    MemorySegment errno = Errno.capture();
    long fd = systemCall(PosixBindings.Processes.PIDFD_OPEN, errno, SYS_PIDFD_OPEN, pid, 0);
    if (fd < 0) {
      throw new NativeCallException("pidfd_open(" + pid + ")", Errno.of(errno));
    }
    return (int) fd;
  }

  /**
   * Copies from the memory of {@code pid} into ours. It may stop early, at the border of a remote element.
   *
   * @param local address of an array of {@code struct iovec} (address, then length: 8 bytes each)
   * @param localCount how many, at most {@link #IOV_MAX}
   * @param remote address of such an array with addresses of the other process
   * @param remoteCount how many, at most {@link #IOV_MAX}
   * @return bytes copied, or the error number, negative: {@code −EPERM} where ptrace of that process is not allowed,
   *     {@code −ESRCH} where there is no such process, {@code −EFAULT} for a bad address on either side
   */
  public static long readFrom(int pid, long local, long localCount, long remote, long remoteCount) {
    MemorySegment errno = Errno.capture();
    long rc;
    try {
      rc = (long) PosixBindings.Processes.PROCESS_VM_READV.invokeExact(
          errno, (long) pid, local, localCount, remote, remoteCount, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
    return rc < 0 ? -Errno.of(errno) : rc;
  }

  /** Copies from our memory into that of {@code pid}; all else as {@link #readFrom}. */
  public static long writeTo(int pid, long local, long localCount, long remote, long remoteCount) {
    MemorySegment errno = Errno.capture();
    long rc;
    try {
      rc = (long) PosixBindings.Processes.PROCESS_VM_WRITEV.invokeExact(
          errno, (long) pid, local, localCount, remote, remoteCount, 0L);
    } catch (Throwable t) {
      throw unexpected(t);
    }
    return rc < 0 ? -Errno.of(errno) : rc;
  }
}
