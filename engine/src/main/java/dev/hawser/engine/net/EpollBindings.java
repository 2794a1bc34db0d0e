/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** Downcall handles of epoll and eventfd, each below its C prototype. Every one captures {@code errno}. */
final class EpollBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int epoll_create1(int flags);
  static final MethodHandle EPOLL_CREATE1 =
      C.functionWithErrno("epoll_create1", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
  static final MethodHandle EPOLL_CTL =
      C.functionWithErrno("epoll_ctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
  static final MethodHandle EPOLL_WAIT =
      C.functionWithErrno("epoll_wait", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT));
  // int epoll_pwait2(int epfd, struct epoll_event *events, int maxevents,
  //                  const struct timespec *timeout, const sigset_t *sigmask);   glibc 2.35, Linux 5.11
  static final @Nullable MethodHandle EPOLL_PWAIT2 =
      C.find("epoll_pwait2").isPresent()
          ? C.functionWithErrno(
              "epoll_pwait2", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG))
          : null;
  // int eventfd(unsigned int initval, int flags);
  static final MethodHandle EVENTFD =
      C.functionWithErrno("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));

  private EpollBindings() {}
}
