/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Files as Linux numbers them. A descriptor is the caller's to close. Cold calls: each may allocate.
 *
 * <p>Source: memfd_create(2), ftruncate(2), fcntl(2) (file sealing), open(2), close(2), statx(2). Thread-safe.
 */
public final class FileDescriptors {
  // asm-generic/fcntl.h; aarch64 has the same.
  private static final int F_GETFL = 3;
  private static final int F_SETFL = 4;
  private static final int O_NONBLOCK = 0x800;
  private static final int F_ADD_SEALS = 1033;
  private static final int F_GET_SEALS = 1034;
  private static final int F_SEAL_SEAL = 1;
  private static final int F_SEAL_SHRINK = 2;
  private static final int F_SEAL_GROW = 4;
  private static final int LOCK_EX = 2; // sys/file.h

  public static final int MFD_CLOEXEC = 0x1;
  private static final int MFD_ALLOW_SEALING = 0x2;
  public static final int MFD_HUGETLB = 0x4;
  public static final int MFD_HUGE_2MB = 21 << 26;

  public static final int O_RDONLY = 0;
  public static final int O_RDWR = 2;
  public static final int O_CLOEXEC = 0x80000;

  private static final int AT_EMPTY_PATH = 0x1000;
  private static final int STATX_BASIC_STATS = 0x7ff;
  private static final long STATX_BYTES = 256;
  // struct statx has the same layout on every architecture, unlike struct stat.
  private static final long STX_INO = 32;
  private static final long STX_SIZE = 40;
  private static final long STX_DEV_MAJOR = 136;
  private static final long STX_DEV_MINOR = 140;

  private FileDescriptors() {}

  /**
   * What tells one file from another on this machine, and its size.
   *
   * @param device the file system's device, major number in the upper 32 bits and minor in the lower
   * @param inode the inode on it
   * @param size bytes
   */
  public record Identity(long device, long inode, long size) {}

  /**
   * Makes an anonymous file in memory.
   *
   * @param name appears in {@code /proc/PID/fd}
   * @param flags of {@code MFD_}
   * @return the descriptor
   * @throws NativeCallException if Linux refuses, for example {@code EMFILE}
   */
  public static int memfdCreate(String name, int flags) {
    MemorySegment errno = Errno.capture();
    int fd;
    try (Arena arena = Arena.ofConfined()) {
      fd = (int) systemCall(PosixBindings.Files.MEMFD_CREATE, errno, arena.allocateFrom(name).address(), flags);
    }
    return checked(fd, errno, "memfd_create", name);
  }

  /**
   * Sets a file's size in bytes.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EFBIG}
   */
  public static void truncate(int fd, long bytes) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Files.FTRUNCATE, errno, fd, bytes);
    if (rc < 0) {
      throw new NativeCallException("ftruncate(fd " + fd + ", " + bytes + " bytes)", Errno.of(errno));
    }
  }

  /**
   * Makes an anonymous file in memory, closed on exec, whose size is fixed for ever: nobody, this process and its peers
   * included, can take pages away under those who have mapped it, who would get SIGBUS.
   *
   * @param name appears in {@code /proc/PID/fd}
   * @param flags further ones of {@code MFD_}
   * @return the descriptor
   * @throws NativeCallException if Linux refuses, for example {@code EMFILE}
   */
  public static int sealedMemory(String name, int flags, long bytes) {
    int fd = memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    boolean sealed = false;
    try {
      truncate(fd, bytes);
      control(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
      sealed = true;
      return fd;
    } finally {
      if (!sealed) {
        close(fd);
      }
    }
  }

  /**
   * Whether a file keeps its size for ever; one that is not in memory does not.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EBADF}
   */
  public static boolean isSizeSealed(int fd) {
    int both = F_SEAL_SHRINK | F_SEAL_GROW;
    try {
      return (control(fd, F_GET_SEALS, 0) & both) == both;
    } catch (NativeCallException e) {
      if (e.errno() == Errno.EINVAL) {
        return false;
      }
      throw e;
    }
  }

  /**
   * Opens an existing file; always closed on exec.
   *
   * @param flags of {@code O_}
   * @throws NativeCallException if Linux refuses, for example {@code ENOENT} or {@code EACCES}
   */
  public static int open(String path, int flags) {
    MemorySegment errno = Errno.capture();
    int fd;
    try (Arena arena = Arena.ofConfined()) {
      fd = (int) systemCall(PosixBindings.Files.OPEN, errno, arena.allocateFrom(path).address(), flags | O_CLOEXEC, 0);
    }
    return checked(fd, errno, "open", path);
  }

  /**
   * Closes a descriptor. It is closed even when this throws, so never call it twice.
   *
   * @throws NativeCallException if Linux reports an error, for example {@code EBADF}
   */
  public static void close(int fd) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Files.CLOSE, errno, fd);
    if (rc < 0) {
      throw new NativeCallException("close(fd " + fd + ")", Errno.of(errno));
    }
  }

  /**
   * Lets reads and writes return at once with {@code EAGAIN} instead of waiting.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EBADF}
   */
  public static void nonBlocking(int fd) {
    control(fd, F_SETFL, control(fd, F_GETFL, 0) | O_NONBLOCK);
  }

  /**
   * Takes the lock of an open file or folder, waiting for whoever has it; it goes with the descriptor.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EBADF}
   */
  public static void lock(int fd) {
    MemorySegment errno = Errno.capture();
    int rc;
    do {
      rc = (int) systemCall(PosixBindings.Files.FLOCK, errno, fd, LOCK_EX);
    } while (rc < 0 && Errno.of(errno) == Errno.EINTR);
    if (rc < 0) {
      throw new NativeCallException("flock(fd " + fd + ")", Errno.of(errno));
    }
  }

  private static int control(int fd, int command, int argument) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Files.FCNTL, errno, fd, command, argument);
    if (rc < 0) {
      throw new NativeCallException("fcntl(fd " + fd + ", " + command + ")", Errno.of(errno));
    }
    return rc;
  }

  /**
   * Which file an open descriptor is.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EBADF}
   */
  public static Identity identify(int fd) {
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment stat = arena.allocate(STATX_BYTES, Long.BYTES);
      int rc =
          (int) systemCall(PosixBindings.Files.STATX, errno, fd, arena.allocateFrom("").address(), AT_EMPTY_PATH,
              STATX_BASIC_STATS, stat.address());
      if (rc < 0) {
        throw new NativeCallException("statx(fd " + fd + ")", Errno.of(errno));
      }
      long major = Integer.toUnsignedLong(stat.get(ValueLayout.JAVA_INT, STX_DEV_MAJOR));
      long minor = Integer.toUnsignedLong(stat.get(ValueLayout.JAVA_INT, STX_DEV_MINOR));
      return new Identity(
          major << 32 | minor,
          stat.get(ValueLayout.JAVA_LONG, STX_INO),
          stat.get(ValueLayout.JAVA_LONG, STX_SIZE));
    }
  }

  private static int checked(int fd, MemorySegment errno, String call, String argument) {
    if (fd < 0) {
      throw new NativeCallException(call + "(" + argument + ")", Errno.of(errno));
    }
    return fd;
  }
}
