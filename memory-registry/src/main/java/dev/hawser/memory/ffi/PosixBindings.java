/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

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
        C.functionWithErrno("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    // int ftruncate(int fd, off_t length);
    static final MethodHandle FTRUNCATE =
        C.functionWithErrno("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    // int open(const char *pathname, int flags, ... /* mode_t mode */);
    static final MethodHandle OPEN =
        C.functionWithErrno("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 2);
    // int fcntl(int fd, int cmd, ... /* arg */);
    static final MethodHandle FCNTL =
        C.functionWithErrno("fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), 2);
    // int flock(int fd, int operation);
    static final MethodHandle FLOCK = C.functionWithErrno("flock", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    // int close(int fd);
    static final MethodHandle CLOSE = C.functionWithErrno("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    // int statx(int dirfd, const char *pathname, int flags, unsigned int mask, struct statx *statxbuf);
    static final MethodHandle STATX =
        C.functionWithErrno(
            "statx", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS));

    private Files() {}
  }

  /** Mappings. */
  static final class Mappings {
    // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
    static final MethodHandle MMAP =
        C.functionWithErrno(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    // int munmap(void *addr, size_t length);
    static final MethodHandle MUNMAP =
        C.functionWithErrno("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    // int madvise(void *addr, size_t length, int advice);
    static final MethodHandle MADVISE =
        C.functionWithErrno("madvise", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    // int msync(void *addr, size_t length, int flags);
    static final MethodHandle MSYNC =
        C.functionWithErrno("msync", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    // int mlock(const void *addr, size_t len);
    static final MethodHandle MLOCK =
        C.functionWithErrno("mlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    // int munlock(const void *addr, size_t len);
    static final MethodHandle MUNLOCK =
        C.functionWithErrno("munlock", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    // int getpagesize(void);
    static final MethodHandle GETPAGESIZE = C.function("getpagesize", FunctionDescriptor.of(JAVA_INT));

    private Mappings() {}
  }

  /** Other processes. */
  static final class Processes {
    // long syscall(long number, ...); pidfd_open has a wrapper only since glibc 2.36
    static final MethodHandle PIDFD_OPEN =
        C.functionWithErrno("syscall", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT), 1);
    // uid_t geteuid(void);
    static final MethodHandle GETEUID = C.function("geteuid", FunctionDescriptor.of(JAVA_INT));
    // ssize_t process_vm_readv(pid_t pid, const struct iovec *local_iov, unsigned long liovcnt,
    //                          const struct iovec *remote_iov, unsigned long riovcnt, unsigned long flags);
    static final MethodHandle PROCESS_VM_READV =
        C.functionWithErrno(
            "process_vm_readv",
            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    // ssize_t process_vm_writev(pid_t pid, const struct iovec *local_iov, unsigned long liovcnt,
    //                           const struct iovec *remote_iov, unsigned long riovcnt, unsigned long flags);
    static final MethodHandle PROCESS_VM_WRITEV =
        C.functionWithErrno(
            "process_vm_writev",
            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private Processes() {}
  }
}
