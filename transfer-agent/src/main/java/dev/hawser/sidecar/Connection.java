/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.engine.net.NetException;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.UnixSockets;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The socket of one thread of a worker. One thread here uses it; any may hang up. */
final class Connection implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 60_000;
  private static final long FIRST_BYTES = 4096;

  private final int fd;
  private MemorySegment buffer = memory(FIRST_BYTES);
  private boolean closed; // guarded by this

  Connection(int fd) {
    this.fd = fd;
  }

  /** As which user the other end connected. */
  int user() {
    return UnixSockets.peerUser(fd);
  }

  /**
   * The next message, waited for.
   *
   * @return null if the other end has hung up
   * @throws SidecarException if something else came
   */
  @Nullable
  Message receive() {
    byte[] header = new byte[Message.HEADER_BYTES];
    int[] descriptors = {};
    int got = 0;
    boolean whole = false;
    try {
      while (got < header.length) {
        UnixSockets.Received came = UnixSockets.receive(fd, header.length - got);
        if (came == null) {
          Sockets.poll(fd, Sockets.POLLIN, PATIENCE_MILLIS);
          continue;
        }
        descriptors = joined(descriptors, came.descriptors());
        if (came.bytes().length == 0) {
          return null;
        }
        System.arraycopy(came.bytes(), 0, header, got, came.bytes().length);
        got += came.bytes().length;
      }
      MemorySegment head = MemorySegment.ofArray(header);
      long length = Integer.toUnsignedLong(head.get(ValueLayout.JAVA_INT_UNALIGNED, 0));
      int number = Short.toUnsignedInt(head.get(ValueLayout.JAVA_SHORT_UNALIGNED, Integer.BYTES));
      if (length > Message.MOST_BYTES) {
        throw new SidecarException("that is no message of a worker");
      }
      if (!receiveBody(length)) {
        return null;
      }
      whole = true;
      return new Message(number, buffer.asSlice(0, length), descriptors);
    } catch (NetException e) {
      if (e.errno() == Sockets.ECONNRESET) {
        return null;
      }
      throw e;
    } finally {
      if (!whole) {
        closeAll(descriptors);
      }
    }
  }

  private static int[] joined(int[] some, int[] more) {
    if (more.length == 0) {
      return some;
    }
    int[] all = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, all, some.length, more.length);
    return all;
  }

  static void closeAll(int... descriptors) {
    for (int descriptor : descriptors) {
      Sockets.close(descriptor);
    }
  }

  private boolean receiveBody(long length) {
    long got = 0;
    while (got < length) {
      if (got == buffer.byteSize()) {
        grow(Math.min(length, 2 * got)); // with what came, not with what was announced
      }
      long n = Sockets.receive(fd, buffer.address() + got, Math.min(length, buffer.byteSize()) - got);
      if (n == -Sockets.EAGAIN) {
        Sockets.poll(fd, Sockets.POLLIN, PATIENCE_MILLIS);
      } else if (n == 0 || n == -Sockets.ECONNRESET) {
        return false;
      } else if (n < 0) {
        throw new NetException("recv", (int) -n, "a worker's socket");
      } else {
        got += n;
      }
    }
    return true;
  }

  private void grow(long bytes) {
    MemorySegment grown = memory(bytes);
    MemorySegment.copy(buffer, 0, grown, 0, buffer.byteSize());
    buffer = grown;
  }

  /** Goes when nobody refers to it any more: it grows rarely, and lives as long as the connection. */
  private static MemorySegment memory(long bytes) {
    return Arena.ofAuto().allocate(bytes, Long.BYTES);
  }

  /**
   * Sends a message.
   *
   * @param descriptors stay the caller's
   * @return false if the other end has hung up
   */
  boolean send(byte[] message, int... descriptors) {
    int sent = 0;
    while (sent < message.length) {
      byte[] rest = sent == 0 ? message : Arrays.copyOfRange(message, sent, message.length);
      long n = sent == 0 ? UnixSockets.send(fd, rest, descriptors) : UnixSockets.send(fd, rest);
      if (n == -Sockets.EAGAIN) {
        Sockets.poll(fd, Sockets.POLLOUT, PATIENCE_MILLIS);
      } else if (n == -Sockets.EPIPE || n == -Sockets.ECONNRESET) {
        return false;
      } else if (n < 0) {
        throw new NetException("sendmsg", (int) -n, "a worker's socket");
      } else {
        sent += (int) n;
      }
    }
    return true;
  }

  /** Whether the other end has hung up, so that no answer reaches it; what it had sent before may still be read. */
  boolean isHungUp() {
    return (Sockets.poll(fd, 0, 0) & Sockets.POLLHUP) != 0;
  }

  /** Has the thread that uses it find that the other end has hung up. */
  synchronized void hangUp() {
    if (!closed) {
      Sockets.shutdownInput(fd);
      Sockets.shutdownOutput(fd);
    }
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      Sockets.close(fd);
    }
  }
}
