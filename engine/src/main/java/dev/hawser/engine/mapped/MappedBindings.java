/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** Downcall handles of the Linux calls that only this transport makes, each below its C prototype. */
public final class MappedBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int pipe2(int pipefd[2], int flags);
  public static final MethodHandle PIPE2 =
      C.functionWithErrno("pipe2", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
  // ssize_t read(int fd, void *buf, size_t count);
  public static final MethodHandle READ =
      C.functionWithErrno("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // ssize_t write(int fd, const void *buf, size_t count);
  public static final MethodHandle WRITE =
      C.functionWithErrno("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  public static final MethodHandle POLL =
      C.functionWithErrno("poll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  // int prctl(int option, ... /* unsigned long arg2, arg3, arg4, arg5 */ );
  public static final MethodHandle PRCTL =
      C.functionWithErrno(
          "prctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG), 1);

  private MappedBindings() {}
}
