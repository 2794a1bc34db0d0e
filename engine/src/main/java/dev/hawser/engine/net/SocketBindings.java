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

/** Downcall handles of the socket calls, each below its C prototype. Every one captures {@code errno}. */
final class SocketBindings {
  private static final NativeLibrary C = NativeLibrary.process();

  // int socket(int domain, int type, int protocol);
  static final MethodHandle SOCKET = errno("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
  // int socketpair(int domain, int type, int protocol, int sv[2]);
  static final MethodHandle SOCKETPAIR =
      errno("socketpair", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  // int bind(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  static final MethodHandle BIND = errno("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
  // int listen(int sockfd, int backlog);
  static final MethodHandle LISTEN = errno("listen", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  // int accept4(int sockfd, struct sockaddr *addr, socklen_t *addrlen, int flags);
  static final MethodHandle ACCEPT4 =
      errno("accept4", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  // int connect(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  static final MethodHandle CONNECT =
      errno("connect", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
  // int getsockname(int sockfd, struct sockaddr *addr, socklen_t *addrlen);
  static final MethodHandle GETSOCKNAME =
      errno("getsockname", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int getpeername(int sockfd, struct sockaddr *addr, socklen_t *addrlen);
  static final MethodHandle GETPEERNAME =
      errno("getpeername", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int getsockopt(int sockfd, int level, int optname, void *optval, socklen_t *optlen);
  static final MethodHandle GETSOCKOPT =
      errno("getsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int setsockopt(int sockfd, int level, int optname, const void *optval, socklen_t optlen);
  static final MethodHandle SETSOCKOPT =
      errno("setsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));
  // int shutdown(int sockfd, int how);
  static final MethodHandle SHUTDOWN = errno("shutdown", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  // ssize_t send(int sockfd, const void *buf, size_t len, int flags);
  static final MethodHandle SEND =
      errno("send", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  // ssize_t recv(int sockfd, void *buf, size_t len, int flags);
  static final MethodHandle RECV =
      errno("recv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  // ssize_t sendmsg(int sockfd, const struct msghdr *msg, int flags);
  static final MethodHandle SENDMSG = errno("sendmsg", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
  // ssize_t recvmsg(int sockfd, struct msghdr *msg, int flags);
  static final MethodHandle RECVMSG = errno("recvmsg", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
  // ssize_t readv(int fd, const struct iovec *iov, int iovcnt);
  static final MethodHandle READV = errno("readv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
  // ssize_t write(int fd, const void *buf, size_t count);
  static final MethodHandle WRITE = errno("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // ssize_t read(int fd, void *buf, size_t count);
  static final MethodHandle READ = errno("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  static final MethodHandle POLL = errno("poll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
  // int fchmod(int fd, mode_t mode);
  static final MethodHandle FCHMOD = errno("fchmod", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  // int close(int fd);
  static final MethodHandle CLOSE = errno("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

  private SocketBindings() {}

  private static MethodHandle errno(String symbol, FunctionDescriptor type) {
    return C.functionWithErrno(symbol, type);
  }
}
