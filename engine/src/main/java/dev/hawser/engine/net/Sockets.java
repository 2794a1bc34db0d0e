/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The socket calls of Linux. A call that is interrupted is made again.
 *
 * <p>Calls that move bytes take raw addresses, allocate nothing, and give the negative error number instead of throwing;
 * nothing that they do raises SIGPIPE. Each invokes its handle in place: with every method between a worker's round and the
 * handle the compiler is nearer to the depth (15) at which it stops inlining, and then each call makes an object of the segment
 * that it captures the error number in. The others throw {@link NetException}, unless it is said otherwise. A descriptor
 * belongs to who made it, and is closed exactly once.
 *
 * <p>Source: the manual pages of the calls, sections 2 and 7; {@code asm-generic/socket.h}, whose numbers x86-64 and
 * aarch64 share. Thread-safe, as far as the kernel's sockets are.
 */
public final class Sockets {
  /** Nothing to read, or no room to write, now; as a result {@code -EAGAIN}. */
  public static final int EAGAIN = Errno.EAGAIN;

  /** A connect is under way; as a result {@code -EINPROGRESS}. */
  public static final int EINPROGRESS = 115;

  /** The peer's side was closed while we wrote. */
  public static final int EPIPE = Errno.EPIPE;

  /** The peer reset the connection. */
  public static final int ECONNRESET = 104;
  public static final int ECONNREFUSED = 111;

  /** {@code TCP_USER_TIMEOUT}, a retransmission limit or a connect ran out. */
  public static final int ETIMEDOUT = 110;

  /** What came does not keep to the protocol: TLS gives it. */
  public static final int EPROTO = 71;

  /** There is no connection any more. */
  public static final int ENOTCONN = 107;

  /** The interface is down. */
  public static final int ENETDOWN = 100;

  /** No route to the network. */
  public static final int ENETUNREACH = 101;

  /** No route to the host. */
  public static final int EHOSTUNREACH = 113;

  /** The address is taken. */
  public static final int EADDRINUSE = 98;

  /** The address is not one of this host's. */
  public static final int EADDRNOTAVAIL = 99;

  /** The most {@code struct iovec} in one call. */
  public static final int IOV_MAX = 1024;

  /** {@code poll}: readable. */
  public static final int POLLIN = 1;

  /** {@code poll}: writable. */
  public static final int POLLOUT = 4;

  /** {@code poll}: both directions are shut down; told of without being asked for. */
  public static final int POLLHUP = 0x10;

  static final int AF_UNIX = 1;
  static final int SOCK_STREAM = 1;
  static final int SOCK_SEQPACKET = 5;
  static final int SOCK_NONBLOCK = 0x800;
  static final int SOCK_CLOEXEC = 0x80000;
  static final int MSG_DONTWAIT = 0x40;
  static final int MSG_NOSIGNAL = 0x4000;

  private static final int SOL_SOCKET = 1;
  private static final int SO_REUSEADDR = 2;
  private static final int SO_ERROR = 4;
  private static final int SO_SNDBUF = 7;
  private static final int SO_RCVBUF = 8;
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_NODELAY = 1;
  private static final int TCP_USER_TIMEOUT = 18;
  private static final int TCP_INFO = 11;

  /** In {@code struct tcp_info}: {@code tcpi_segs_in}, since Linux 4.2. */
  private static final int SEGMENTS_IN = 140;

  /** Likewise {@code tcpi_snd_mss}, {@code tcpi_rtt} (µs), {@code tcpi_snd_cwnd} (segments), {@code tcpi_total_retrans}. */
  private static final int SEGMENT_BYTES = 16;

  private static final int ROUND_TRIP = 68;
  private static final int WINDOW = 80;
  private static final int RETRANSMITTED = 100;

  /** {@code tcpi_min_rtt} (µs), since Linux 4.6; {@code tcpi_reord_seen}, since 4.19. */
  private static final int LEAST_ROUND_TRIP = 148;

  private static final int REORDERINGS_SEEN = 220;
  private static final int INFO_BYTES = 240;
  private static final int IPPROTO_IPV6 = 41;
  private static final int IPV6_V6ONLY = 26;
  private static final int SHUT_RD = 0;
  private static final int SHUT_WR = 1;

  private Sockets() {}

  /** Makes a non-blocking TCP socket of the endpoint's family, closed on exec. */
  public static int stream(InetEndpoint endpoint) {
    return socket(endpoint.family(), SOCK_STREAM, endpoint);
  }

  static int socket(int family, int type, Object target) {
    return SystemCall.checked(
        "socket",
        target,
        errno -> (int) systemCall(SocketBindings.SOCKET, errno, family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }

  /** Two connected non-blocking stream sockets of this host, closed on exec. */
  public static int[] pair() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment both = arena.allocate(ValueLayout.JAVA_INT, 2);
      SystemCall.checked(
          "socketpair",
          "AF_UNIX",
          errno -> (int) systemCall(SocketBindings.SOCKETPAIR, errno, AF_UNIX,
              SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.address()));
      return both.toArray(ValueLayout.JAVA_INT);
    }
  }

  /**
   * Binds and listens on one endpoint. Takes an address that only waits in TIME_WAIT; an IPv6 wildcard takes IPv6 only.
   *
   * @return the non-blocking listening socket
   * @throws NetException if the address is taken or not of this host; the message says what to do
   */
  public static int listen(InetEndpoint endpoint, int backlog) {
    int fd = stream(endpoint);
    try {
      setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
      if (endpoint.ipv6()) {
        setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
      }
      int bound = bind(fd, endpoint);
      if (bound < 0) {
        throw refusedBind(-bound, endpoint);
      }
      int listening = listen(fd, backlog);
      if (listening < 0) {
        throw new NetException("listen", -listening, endpoint.toString());
      }
      return fd;
    } catch (RuntimeException e) {
      close(fd);
      throw e;
    }
  }

  private static NetException refusedBind(int errno, InetEndpoint endpoint) {
    String cure =
        switch (errno) {
          case EADDRINUSE ->
            "another process listens there: stop it, or listen on another port (port 0 takes a free one)";
          case EADDRNOTAVAIL -> "no interface of this host has that address: `ip address` lists them";
          case Errno.EACCES -> "ports below 1024 need a privilege: choose a higher one";
          default -> "";
        };
    return new NetException("bind", errno, endpoint.toString(), cure);
  }

  static int listen(int fd, int backlog) {
    return SystemCall.result(errno -> (int) systemCall(SocketBindings.LISTEN, errno, fd, backlog));
  }

  /** Binds a socket to a local endpoint, port 0 for any; 0, or the negative error number. */
  public static int bind(int fd, InetEndpoint endpoint) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(InetEndpoint.SOCKADDR_BYTES, Long.BYTES);
      return bind(fd, address, endpoint.writeTo(address));
    }
  }

  static int bind(int fd, MemorySegment address, int bytes) {
    return SystemCall.result(errno -> (int) systemCall(SocketBindings.BIND, errno, fd, address.address(), bytes));
  }

  /** Takes a connection from a listening socket: a non-blocking descriptor, or the negative error number. */
  public static int accept(int fd) {
    int accepted;
    do {
      accepted =
          SystemCall.result(
              errno -> (int) systemCall(SocketBindings.ACCEPT4, errno, fd, 0L, 0L, SOCK_NONBLOCK | SOCK_CLOEXEC));
    } while (accepted == -Errno.EINTR);
    return accepted;
  }

  /** Begins to connect: 0 if connected at once, {@code -EINPROGRESS}, or another negative error number. */
  public static int connect(int fd, InetEndpoint endpoint) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(InetEndpoint.SOCKADDR_BYTES, Long.BYTES);
      return connect(fd, address, endpoint.writeTo(address));
    }
  }

  static int connect(int fd, MemorySegment address, int bytes) {
    int result =
        SystemCall.result(errno -> (int) systemCall(SocketBindings.CONNECT, errno, fd, address.address(), bytes));
    // An interrupted connect goes on in the background, like one that does not block.
    return result == -Errno.EINTR ? -EINPROGRESS : result;
  }

  /**
   * Ends a TCP connection with a reset, now: what the kernel still held for sending is dropped, not delivered later. The
   * descriptor stays open. No error if there is no connection.
   */
  public static void reset(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      // AF_UNSPEC (0) dissolves the association: connect(2).
      connect(fd, arena.allocate(InetEndpoint.SOCKADDR_BYTES, Long.BYTES), 16);
    }
  }

  /** The local endpoint of a socket. */
  public static InetEndpoint local(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(InetEndpoint.SOCKADDR_BYTES, Long.BYTES);
      MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, InetEndpoint.SOCKADDR_BYTES);
      SystemCall.checked(
          "getsockname",
          "fd " + fd,
          errno -> (int) systemCall(SocketBindings.GETSOCKNAME, errno, fd, address.address(), length.address()));
      return InetEndpoint.readFrom(address);
    }
  }

  /** The peer's endpoint of a connected socket. */
  public static InetEndpoint peer(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(InetEndpoint.SOCKADDR_BYTES, Long.BYTES);
      MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, InetEndpoint.SOCKADDR_BYTES);
      SystemCall.checked(
          "getpeername",
          "fd " + fd,
          errno -> (int) systemCall(SocketBindings.GETPEERNAME, errno, fd, address.address(), length.address()));
      return InetEndpoint.readFrom(address);
    }
  }

  /** The error that waits on a socket, and clears it: how a connect ended. 0 if none. */
  public static int pendingError(int fd) {
    return option(fd, SOL_SOCKET, SO_ERROR);
  }

  /** Sends small segments at once ({@code TCP_NODELAY}). */
  public static void noDelay(int fd) {
    setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  }

  /** How long sent bytes may stay unacknowledged before the connection fails, in milliseconds. */
  public static void userTimeout(int fd, int millis) {
    setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, millis);
  }

  /** The kernel's send buffer in bytes; without this call it sizes itself. The kernel doubles and caps the figure. */
  public static void sendBuffer(int fd, int bytes) {
    setOption(fd, SOL_SOCKET, SO_SNDBUF, bytes);
  }

  /** The kernel's receive buffer in bytes; without this call it sizes itself. The kernel doubles and caps the figure. */
  public static void receiveBuffer(int fd, int bytes) {
    setOption(fd, SOL_SOCKET, SO_RCVBUF, bytes);
  }

  private static void setOption(int fd, int level, int name, int value) {
    try (Arena arena = Arena.ofConfined()) {
      long address = arena.allocateFrom(ValueLayout.JAVA_INT, value).address();
      SystemCall.checked(
          "setsockopt",
          "fd " + fd + " level " + level + " option " + name,
          errno -> (int) systemCall(SocketBindings.SETSOCKOPT, errno, fd, level, name, address, Integer.BYTES));
    }
  }

  private static int option(int fd, int level, int name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_INT);
      MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, Integer.BYTES);
      SystemCall.checked(
          "getsockopt",
          "fd " + fd + " level " + level + " option " + name,
          errno -> (int) systemCall(SocketBindings.GETSOCKOPT, errno, fd, level, name, value.address(),
              length.address()));
      return value.get(ValueLayout.JAVA_INT, 0);
    }
  }

  /**
   * How many segments a TCP connection has received, bare and repeated acknowledgements included ({@code TCP_INFO}); 0 if
   * the kernel does not say.
   */
  public static long segmentsIn(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      return Integer.toUnsignedLong(info(fd, arena).get(ValueLayout.JAVA_INT, SEGMENTS_IN));
    }
  }

  /** What the kernel counts of a TCP connection ({@code TCP_INFO}); what an older kernel does not tell is 0. */
  public static NetworkReport network(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = info(fd, arena);
      return new NetworkReport(
          unsigned(info, RETRANSMITTED),
          unsigned(info, REORDERINGS_SEEN),
          unsigned(info, ROUND_TRIP) * 1000,
          leastRoundTrip(unsigned(info, LEAST_ROUND_TRIP)),
          unsigned(info, WINDOW) * unsigned(info, SEGMENT_BYTES));
    }
  }

  /** All ones stand for none measured. */
  private static long leastRoundTrip(long micros) {
    return micros == 0xffff_ffffL ? 0 : micros * 1000;
  }

  private static long unsigned(MemorySegment info, long offset) {
    return Integer.toUnsignedLong(info.get(ValueLayout.JAVA_INT, offset));
  }

  private static MemorySegment info(int fd, Arena arena) {
    MemorySegment info = arena.allocate(INFO_BYTES, Long.BYTES);
    MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, INFO_BYTES);
    SystemCall.checked(
        "getsockopt",
        "fd " + fd + " TCP_INFO",
        errno -> (int) systemCall(SocketBindings.GETSOCKOPT, errno, fd, IPPROTO_TCP, TCP_INFO, info.address(),
            length.address()));
    return info;
  }

  /** Ends the other direction: our side is readable, and reads to the end. No error if the connection is gone. */
  public static void shutdownInput(int fd) {
    shutdown(fd, SHUT_RD);
  }

  /** Ends our direction: the peer reads to the end. No error if the connection is gone. */
  public static void shutdownOutput(int fd) {
    shutdown(fd, SHUT_WR);
  }

  private static void shutdown(int fd, int how) {
    int result = SystemCall.result(errno -> (int) systemCall(SocketBindings.SHUTDOWN, errno, fd, how));
    if (result < 0 && result != -ENOTCONN) {
      throw new NetException("shutdown", -result, "fd " + fd);
    }
  }

  /** Closes a descriptor, whatever the kernel says: it is free afterwards. */
  public static void close(int fd) {
    if (SystemCall.result(errno -> (int) systemCall(SocketBindings.CLOSE, errno, fd)) == -Errno.EBADF) {
      throw new NetException("close", Errno.EBADF, "fd " + fd);
    }
  }

  /** Sends without blocking: bytes taken, or the negative error number. */
  public static long send(int fd, long address, long bytes) {
    MemorySegment errno = Errno.capture();
    long n;
    do {
      try {
        n = (long) SocketBindings.SEND.invokeExact(errno, (long) fd, address, bytes,
            (long) (MSG_NOSIGNAL | MSG_DONTWAIT));
      } catch (Throwable t) {
        throw unexpected(t);
      }
    } while (SystemCall.interrupted(n, errno));
    return SystemCall.outcome(n, errno);
  }

  /** Receives without blocking: bytes, 0 at the end of the stream, or the negative error number. */
  public static long receive(int fd, long address, long bytes) {
    MemorySegment errno = Errno.capture();
    long n;
    do {
      try {
        n = (long) SocketBindings.RECV.invokeExact(errno, (long) fd, address, bytes, (long) MSG_DONTWAIT);
      } catch (Throwable t) {
        throw unexpected(t);
      }
    } while (SystemCall.interrupted(n, errno));
    return SystemCall.outcome(n, errno);
  }

  /**
   * Reads into several places from a non-blocking descriptor.
   *
   * @param iovec address of an array of {@code struct iovec} (address, then length: 8 bytes each)
   * @param count how many, at most {@link #IOV_MAX}
   * @return bytes, 0 at the end of the stream, or the negative error number
   */
  public static long readv(int fd, long iovec, int count) {
    MemorySegment errno = Errno.capture();
    long n;
    do {
      try {
        n = (long) SocketBindings.READV.invokeExact(errno, (long) fd, iovec, (long) count);
      } catch (Throwable t) {
        throw unexpected(t);
      }
    } while (SystemCall.interrupted(n, errno));
    return SystemCall.outcome(n, errno);
  }

  /**
   * Sends a message header's places, without blocking and without SIGPIPE, which {@code writev} has no flag against.
   *
   * @param message address of a {@code struct msghdr}, see {@link MessageHeader}
   * @return bytes taken, or the negative error number
   */
  public static long sendMessage(int fd, long message) {
    return sendMessage(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  static long sendMessage(int fd, long message, int flags) {
    MemorySegment errno = Errno.capture();
    long n;
    do {
      try {
        n = (long) SocketBindings.SENDMSG.invokeExact(errno, (long) fd, message, (long) flags);
      } catch (Throwable t) {
        throw unexpected(t);
      }
    } while (SystemCall.interrupted(n, errno));
    return SystemCall.outcome(n, errno);
  }

  static long receiveMessage(int fd, long message, int flags) {
    MemorySegment errno = Errno.capture();
    long n;
    do {
      try {
        n = (long) SocketBindings.RECVMSG.invokeExact(errno, (long) fd, message, (long) flags);
      } catch (Throwable t) {
        throw unexpected(t);
      }
    } while (SystemCall.interrupted(n, errno));
    return SystemCall.outcome(n, errno);
  }

  /**
   * Waits until one descriptor is ready.
   *
   * @param events of {@link #POLLIN} and {@link #POLLOUT}
   * @param timeoutMillis at most how long; 0 only asks
   * @return the events that hold, errors and hang-up included; 0 if the time was over first
   */
  public static int poll(int fd, int events, int timeoutMillis) {
    long deadline = System.nanoTime() + timeoutMillis * 1_000_000L;
    try (Arena arena = Arena.ofConfined()) {
      // struct pollfd { int fd; short events; short revents; }
      MemorySegment pollfd = arena.allocate(8, 4);
      pollfd.set(ValueLayout.JAVA_INT, 0, fd);
      pollfd.set(ValueLayout.JAVA_SHORT, 4, (short) events);
      int left = timeoutMillis;
      while (true) {
        int millis = left;
        int n =
            SystemCall.result(errno -> (int) systemCall(SocketBindings.POLL, errno, pollfd.address(), 1L, millis));
        if (n >= 0) {
          return n == 0 ? 0 : pollfd.get(ValueLayout.JAVA_SHORT, 6);
        }
        if (n != -Errno.EINTR) {
          throw new NetException("poll", -n, "fd " + fd);
        }
        left = (int) Math.max(0, (deadline - System.nanoTime() + 999_999) / 1_000_000);
      }
    }
  }
}
