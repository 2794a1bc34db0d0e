/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.invoke.MethodHandle;

/** Downcall handles of the socket calls, each below its C prototype. Every one captures {@code errno}. */
final class SocketBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int socket(int domain, int type, int protocol);
  static final MethodHandle SOCKET = C.systemCall("socket", 3);
  // int socketpair(int domain, int type, int protocol, int sv[2]);
  static final MethodHandle SOCKETPAIR =
      C.systemCall("socketpair", 4);
  // int bind(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  static final MethodHandle BIND = C.systemCall("bind", 3);
  // int listen(int sockfd, int backlog);
  static final MethodHandle LISTEN = C.systemCall("listen", 2);
  // int accept4(int sockfd, struct sockaddr *addr, socklen_t *addrlen, int flags);
  static final MethodHandle ACCEPT4 =
      C.systemCall("accept4", 4);
  // int connect(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  static final MethodHandle CONNECT =
      C.systemCall("connect", 3);
  // int getsockname(int sockfd, struct sockaddr *addr, socklen_t *addrlen);
  static final MethodHandle GETSOCKNAME =
      C.systemCall("getsockname", 3);
  // int getpeername(int sockfd, struct sockaddr *addr, socklen_t *addrlen);
  static final MethodHandle GETPEERNAME =
      C.systemCall("getpeername", 3);
  // int getsockopt(int sockfd, int level, int optname, void *optval, socklen_t *optlen);
  static final MethodHandle GETSOCKOPT =
      C.systemCall("getsockopt", 5);
  // int setsockopt(int sockfd, int level, int optname, const void *optval, socklen_t optlen);
  static final MethodHandle SETSOCKOPT =
      C.systemCall("setsockopt", 5);
  // int shutdown(int sockfd, int how);
  static final MethodHandle SHUTDOWN = C.systemCall("shutdown", 2);
  // ssize_t send(int sockfd, const void *buf, size_t len, int flags);
  static final MethodHandle SEND =
      C.systemCall("send", 4);
  // ssize_t recv(int sockfd, void *buf, size_t len, int flags);
  static final MethodHandle RECV =
      C.systemCall("recv", 4);
  // ssize_t sendmsg(int sockfd, const struct msghdr *msg, int flags);
  static final MethodHandle SENDMSG = C.systemCall("sendmsg", 3);
  // ssize_t recvmsg(int sockfd, struct msghdr *msg, int flags);
  static final MethodHandle RECVMSG = C.systemCall("recvmsg", 3);
  // ssize_t readv(int fd, const struct iovec *iov, int iovcnt);
  static final MethodHandle READV = C.systemCall("readv", 3);
  // ssize_t write(int fd, const void *buf, size_t count);
  static final MethodHandle WRITE = C.systemCall("write", 3);
  // ssize_t read(int fd, void *buf, size_t count);
  static final MethodHandle READ = C.systemCall("read", 3);
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  static final MethodHandle POLL = C.systemCall("poll", 3);
  // int fchmod(int fd, mode_t mode);
  static final MethodHandle FCHMOD = C.systemCall("fchmod", 2);
  // int close(int fd);
  static final MethodHandle CLOSE = C.systemCall("close", 1);

  private SocketBindings() {}
}
