/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.invoke.MethodHandle;

/** Downcall handles of the Linux calls that only this transport makes, each below its C prototype. */
public final class MappedBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int pipe2(int pipefd[2], int flags);
  public static final MethodHandle PIPE2 =
      C.systemCall("pipe2", 2);
  // ssize_t read(int fd, void *buf, size_t count);
  public static final MethodHandle READ =
      C.systemCall("read", 3);
  // ssize_t write(int fd, const void *buf, size_t count);
  public static final MethodHandle WRITE =
      C.systemCall("write", 3);
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  public static final MethodHandle POLL =
      C.systemCall("poll", 3);
  // int prctl(int option, ... /* unsigned long arg2, arg3, arg4, arg5 */ );
  public static final MethodHandle PRCTL =
      C.systemCall("prctl", 5, 1);

  private MappedBindings() {}
}
