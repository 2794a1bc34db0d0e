/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Downcall handles of the Linux calls, each below its C prototype. Every one captures {@code errno}. */
final class PosixBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  private PosixBindings() {}

  /** Files and file descriptors. */
  static final class Files {
    // int memfd_create(const char *name, unsigned int flags);
    static final MethodHandle MEMFD_CREATE =
        C.systemCall("memfd_create", 2);
    // int ftruncate(int fd, off_t length);
    static final MethodHandle FTRUNCATE =
        C.systemCall("ftruncate", 2);
    // int open(const char *pathname, int flags, ... /* mode_t mode */);
    static final MethodHandle OPEN =
        C.systemCall("open", 3, 2);
    // int fcntl(int fd, int cmd, ... /* arg */);
    static final MethodHandle FCNTL =
        C.systemCall("fcntl", 3, 2);
    // int flock(int fd, int operation);
    static final MethodHandle FLOCK = C.systemCall("flock", 2);
    // int close(int fd);
    static final MethodHandle CLOSE = C.systemCall("close", 1);
    // int statx(int dirfd, const char *pathname, int flags, unsigned int mask, struct statx *statxbuf);
    static final MethodHandle STATX =
        C.systemCall("statx", 5);

    private Files() {}
  }

  /** Mappings. */
  static final class Mappings {
    // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
    static final MethodHandle MMAP =
        C.systemCall("mmap", 6);
    // int munmap(void *addr, size_t length);
    static final MethodHandle MUNMAP =
        C.systemCall("munmap", 2);
    // int madvise(void *addr, size_t length, int advice);
    static final MethodHandle MADVISE =
        C.systemCall("madvise", 3);
    // int msync(void *addr, size_t length, int flags);
    static final MethodHandle MSYNC =
        C.systemCall("msync", 3);
    // int mlock(const void *addr, size_t len);
    static final MethodHandle MLOCK =
        C.systemCall("mlock", 2);
    // int munlock(const void *addr, size_t len);
    static final MethodHandle MUNLOCK =
        C.systemCall("munlock", 2);
    // int getpagesize(void);
    static final MethodHandle GETPAGESIZE = C.function("getpagesize", FunctionDescriptor.of(JAVA_INT));

    private Mappings() {}
  }

  /** Other processes. */
  static final class Processes {
    // long syscall(long number, ...); pidfd_open has a wrapper only since glibc 2.36
    static final MethodHandle PIDFD_OPEN =
        C.systemCall("syscall", 3, 1);
    // uid_t geteuid(void);
    static final MethodHandle GETEUID = C.function("geteuid", FunctionDescriptor.of(JAVA_INT));
    // ssize_t process_vm_readv(pid_t pid, const struct iovec *local_iov, unsigned long liovcnt,
    //                          const struct iovec *remote_iov, unsigned long riovcnt, unsigned long flags);
    static final MethodHandle PROCESS_VM_READV =
        C.systemCall("process_vm_readv", 6);
    // ssize_t process_vm_writev(pid_t pid, const struct iovec *local_iov, unsigned long liovcnt,
    //                           const struct iovec *remote_iov, unsigned long riovcnt, unsigned long flags);
    static final MethodHandle PROCESS_VM_WRITEV =
        C.systemCall("process_vm_writev", 6);

    private Processes() {}
  }
}
