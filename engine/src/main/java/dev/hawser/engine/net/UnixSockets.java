/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Unix sockets, and descriptors sent over them: in the abstract name space of this host (and network name space), or at a
 * path. Cold calls: each may allocate.
 *
 * <p>Source: unix(7), cmsg(3). Thread-safe.
 */
public final class UnixSockets {
  /** The most descriptors in one message here; the kernel takes 253. */
  public static final int MAX_DESCRIPTORS = 64;

  /** The most bytes of a name. */
  public static final int MAX_NAME_BYTES = 107;

  // struct sockaddr_un { u16 family; char path[108] }; a leading zero byte makes the name abstract.
  private static final int PATH_OFFSET = 2;
  private static final int SOCKADDR_BYTES = 110;

  // struct cmsghdr { size_t len; int level; int type }; the data follows at 16.
  private static final int CMSG_HEADER_BYTES = 16;
  private static final int SOL_SOCKET = 1;
  private static final int SCM_RIGHTS = 1;
  private static final int SO_PEERCRED = 17;
  private static final int UCRED_BYTES = 12;
  private static final int OWNER_ONLY = 0600;
  private static final int MSG_CTRUNC = 0x8;
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;

  private UnixSockets() {}

  /**
   * Listens under an abstract name.
   *
   * @return the non-blocking listening socket; {@link Sockets#accept} takes connections from it
   * @throws NetException for example {@code EADDRINUSE}
   */
  public static int listen(String name, int backlog) {
    int fd = Sockets.socket(Sockets.AF_UNIX, Sockets.SOCK_STREAM, display(name));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(SOCKADDR_BYTES, Long.BYTES);
      check("bind", Sockets.bind(fd, address, write(address, name)), name);
      check("listen", Sockets.listen(fd, backlog), name);
      return fd;
    } catch (RuntimeException e) {
      Sockets.close(fd);
      throw e;
    }
  }

  /**
   * Connects to an abstract name. It never waits: {@code EAGAIN} means that the listener's backlog is full.
   *
   * @return the connected non-blocking socket
   * @throws NetException for example {@code ECONNREFUSED}: nobody listens under that name in this network name space
   */
  public static int connect(String name) {
    int fd = Sockets.socket(Sockets.AF_UNIX, Sockets.SOCK_STREAM, display(name));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(SOCKADDR_BYTES, Long.BYTES);
      check("connect", Sockets.connect(fd, address, write(address, name)), name);
      return fd;
    } catch (RuntimeException e) {
      Sockets.close(fd);
      throw e;
    }
  }

  /**
   * Listens at a path, where only this user may connect.
   *
   * @return the non-blocking listening socket; {@link Sockets#accept} takes connections from it. The path stays when it is
   *     closed
   * @throws NetException for example {@code EADDRINUSE}: there is something at that path, whether or not anybody listens
   */
  public static int listen(Path path, int backlog) {
    int fd = Sockets.socket(Sockets.AF_UNIX, Sockets.SOCK_STREAM, path.toString());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(SOCKADDR_BYTES, Long.BYTES);
      int bytes = write(address, path);
      // The file that bind makes has the mode of the socket: never, not even for a moment, may others connect.
      SystemCall.checked("fchmod", path, errno -> (int) systemCall(SocketBindings.FCHMOD, errno, fd, OWNER_ONLY));
      SystemCall.checked("bind", path,
          errno -> (int) systemCall(SocketBindings.BIND, errno, fd, address.address(), bytes));
      SystemCall.checked("listen", path, errno -> (int) systemCall(SocketBindings.LISTEN, errno, fd, backlog));
      return fd;
    } catch (RuntimeException e) {
      Sockets.close(fd);
      throw e;
    }
  }

  /**
   * Connects to a path, as {@link #connect(String)} does to a name.
   *
   * @throws NetException for example {@code ECONNREFUSED}: nobody listens there
   */
  public static int connect(Path path) {
    int fd = Sockets.socket(Sockets.AF_UNIX, Sockets.SOCK_STREAM, path.toString());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = arena.allocate(SOCKADDR_BYTES, Long.BYTES);
      int result = Sockets.connect(fd, address, write(address, path));
      if (result < 0) {
        throw new NetException("connect", -result, path.toString());
      }
      return fd;
    } catch (RuntimeException e) {
      Sockets.close(fd);
      throw e;
    }
  }

  /** As which user the process at the other end connected. */
  public static int peerUser(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      // struct ucred { pid_t pid; uid_t uid; gid_t gid; }
      MemorySegment credentials = arena.allocate(UCRED_BYTES, Integer.BYTES);
      MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, UCRED_BYTES);
      SystemCall.checked("getsockopt", "fd " + fd + " SO_PEERCRED",
          errno -> (int) systemCall(SocketBindings.GETSOCKOPT, errno, fd, SOL_SOCKET, SO_PEERCRED,
              credentials.address(), length.address()));
      return credentials.get(ValueLayout.JAVA_INT, Integer.BYTES);
    }
  }

  /**
   * Sends bytes with descriptors, without blocking. The descriptors travel with the first byte; they stay the caller's,
   * the receiver gets its own.
   *
   * @param bytes at least one
   * @return bytes taken, or the negative error number; if positive, the descriptors were sent
   */
  public static long send(int socket, byte[] bytes, int... descriptors) {
    if (bytes.length == 0 || descriptors.length > MAX_DESCRIPTORS) {
      throw new IllegalArgumentException(
          "a message has at least one byte and at most " + MAX_DESCRIPTORS + " descriptors, not " + bytes.length
              + " and " + descriptors.length);
    }
    try (Arena arena = Arena.ofConfined()) {
      MessageHeader header = header(arena, arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes));
      if (descriptors.length > 0) {
        long length = CMSG_HEADER_BYTES + (long) Integer.BYTES * descriptors.length;
        MemorySegment control = arena.allocate(align(length), Long.BYTES);
        control.set(ValueLayout.JAVA_LONG, 0, length);
        control.set(ValueLayout.JAVA_INT, 8, SOL_SOCKET);
        control.set(ValueLayout.JAVA_INT, 12, SCM_RIGHTS);
        MemorySegment.copy(descriptors, 0, control, ValueLayout.JAVA_INT, CMSG_HEADER_BYTES, descriptors.length);
        setControl(header, control);
      }
      return Sockets.sendMessage(socket, header.address());
    }
  }

  /**
   * What came over a Unix socket.
   *
   * @param bytes empty at the end of the stream
   * @param descriptors closed on exec; the receiver's to close
   */
  @SuppressWarnings("ArrayRecordComponent") // the receiver's own; never compared
  public record Received(byte[] bytes, int[] descriptors) {}

  /**
   * Receives at most {@code maxBytes} bytes and the descriptors that came with them, without blocking.
   *
   * @return what came; null if there is nothing now
   * @throws NetException if the connection failed, or if it brought more than {@value #MAX_DESCRIPTORS} descriptors
   */
  public static @Nullable Received receive(int socket, int maxBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment data = arena.allocate(maxBytes, Long.BYTES);
      MessageHeader header = header(arena, data);
      MemorySegment control =
          arena.allocate(align(CMSG_HEADER_BYTES + (long) Integer.BYTES * MAX_DESCRIPTORS), Long.BYTES);
      setControl(header, control);
      long n = Sockets.receiveMessage(socket, header.address(), Sockets.MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (n == -Errno.EAGAIN) {
        return null;
      }
      if (n < 0) {
        throw new NetException("recvmsg", (int) -n, "Unix socket, fd " + socket);
      }
      int[] descriptors = descriptors(header, control);
      if ((header.memory().get(ValueLayout.JAVA_INT, MessageHeader.FLAGS) & MSG_CTRUNC) != 0) {
        for (int descriptor : descriptors) {
          Sockets.close(descriptor);
        }
        throw new NetException("recvmsg", 90, "Unix socket, fd " + socket, "more descriptors than expected came");
      }
      return new Received(data.asSlice(0, n).toArray(ValueLayout.JAVA_BYTE), descriptors);
    }
  }

  private static int[] descriptors(MessageHeader header, MemorySegment control) {
    long length = header.memory().get(ValueLayout.JAVA_LONG, MessageHeader.CONTROLLEN);
    if (length < CMSG_HEADER_BYTES
        || control.get(ValueLayout.JAVA_INT, 8) != SOL_SOCKET
        || control.get(ValueLayout.JAVA_INT, 12) != SCM_RIGHTS) {
      return new int[0];
    }
    long bytes = control.get(ValueLayout.JAVA_LONG, 0) - CMSG_HEADER_BYTES;
    return control.asSlice(CMSG_HEADER_BYTES, bytes).toArray(ValueLayout.JAVA_INT);
  }

  private static MessageHeader header(Arena arena, MemorySegment data) {
    MemorySegment iovec = arena.allocate(ValueLayout.JAVA_LONG, 2);
    iovec.setAtIndex(ValueLayout.JAVA_LONG, 0, data.address());
    iovec.setAtIndex(ValueLayout.JAVA_LONG, 1, data.byteSize());
    return new MessageHeader(arena.allocate(MessageHeader.BYTES, Long.BYTES)).places(iovec.address(), 1);
  }

  private static void setControl(MessageHeader header, MemorySegment control) {
    header.memory().set(ValueLayout.JAVA_LONG, MessageHeader.CONTROL, control.address());
    header.memory().set(ValueLayout.JAVA_LONG, MessageHeader.CONTROLLEN, control.byteSize());
  }

  private static int write(MemorySegment address, String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    if (bytes.length == 0 || bytes.length > MAX_NAME_BYTES) {
      throw new IllegalArgumentException(
          "an abstract name has 1 to " + MAX_NAME_BYTES + " bytes of UTF-8, not " + bytes.length + ": " + name);
    }
    address.set(ValueLayout.JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
    MemorySegment.copy(bytes, 0, address, ValueLayout.JAVA_BYTE, PATH_OFFSET + 1, bytes.length);
    return PATH_OFFSET + 1 + bytes.length;
  }

  private static int write(MemorySegment address, Path path) {
    byte[] bytes = path.toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length == 0 || bytes.length > MAX_NAME_BYTES) {
      throw new IllegalArgumentException(
          "the path of a Unix socket has 1 to " + MAX_NAME_BYTES + " bytes of UTF-8, not " + bytes.length + ": "
              + path);
    }
    address.set(ValueLayout.JAVA_SHORT, 0, (short) Sockets.AF_UNIX);
    MemorySegment.copy(bytes, 0, address, ValueLayout.JAVA_BYTE, PATH_OFFSET, bytes.length);
    return PATH_OFFSET + bytes.length + 1; // with a final NUL
  }

  private static void check(String call, int result, String name) {
    if (result < 0) {
      throw new NetException(call, -result, display(name));
    }
  }

  private static String display(String name) {
    return "@" + name;
  }

  private static long align(long bytes) {
    return (bytes + 7) & ~7L;
  }
}
