/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** Downcall handles of epoll and eventfd, each below its C prototype. Every one captures {@code errno}. */
final class EpollBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int epoll_create1(int flags);
  static final MethodHandle EPOLL_CREATE1 =
      C.systemCall("epoll_create1", 1);
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
  static final MethodHandle EPOLL_CTL =
      C.systemCall("epoll_ctl", 4);
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
  static final MethodHandle EPOLL_WAIT =
      C.systemCall("epoll_wait", 4);
  // int epoll_pwait2(int epfd, struct epoll_event *events, int maxevents,
  //                  const struct timespec *timeout, const sigset_t *sigmask);   glibc 2.35, Linux 5.11
  static final @Nullable MethodHandle EPOLL_PWAIT2 =
      C.find("epoll_pwait2").isPresent()
          ? C.systemCall("epoll_pwait2", 5)
          : null;
  // int eventfd(unsigned int initval, int flags);
  static final MethodHandle EVENTFD =
      C.systemCall("eventfd", 2);

  private EpollBindings() {}
}
