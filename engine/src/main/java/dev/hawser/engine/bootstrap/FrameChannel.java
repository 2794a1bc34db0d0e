/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsChannel;
import dev.hawser.memory.ffi.Errno;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * Frames over a non-blocking socket, which it owns until it is {@linkplain #release released}. It takes no byte beyond
 * the frame that it is asked for. Loop thread only.
 */
final class FrameChannel {
  private final int fd;
  private final String description;
  private final MemorySegment scratch;
  private final @Nullable TlsChannel tls;

  private final ByteBuffer header = ByteBuffer.allocate(Frame.HEADER_BYTES);
  private Frame.@Nullable Header announced;
  private ByteBuffer payload = ByteBuffer.allocate(0);
  private final Deque<ByteBuffer> output = new ArrayDeque<>();
  private boolean owned = true;

  /**
   * A channel over a connected socket.
   *
   * @param scratch native memory of the loop, at least a header and the longest payload
   */
  FrameChannel(int fd, String description, MemorySegment scratch, @Nullable SSLEngine engine) {
    this.fd = fd;
    this.description = description;
    this.scratch = scratch;
    this.tls = engine == null ? null : new TlsChannel(fd, engine, TlsChannel.Reading.EXACT);
  }

  int fd() {
    return fd;
  }

  String description() {
    return description;
  }

  @Nullable
  TlsChannel tls() {
    return tls;
  }

  /**
   * The next frame; null if it is not all there yet.
   *
   * @throws EOFException if the peer closed the connection
   * @throws MalformedFrameException if what came is no frame
   * @throws IOException if the connection failed
   */
  @Nullable
  Frame read() throws IOException, MalformedFrameException {
    if (announced == null) {
      if (!fill(header)) {
        return null;
      }
      Frame.Header checked = Frame.header(header.flip());
      header.clear();
      announced = checked;
      payload = ByteBuffer.allocate(checked.payloadBytes());
    }
    if (!fill(payload)) {
      return null;
    }
    Frame frame = new Frame(announced.type(), payload.array());
    announced = null;
    return frame;
  }

  /** True if nothing was taken from the socket that no frame has brought. */
  boolean isAtBoundary() {
    return announced == null && header.position() == 0 && (tls == null || !tls.holdsInput());
  }

  private boolean fill(ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      long n = tls == null ? receive(buffer) : tls.read(buffer);
      if (n == -Errno.EAGAIN) {
        return false;
      }
      if (n == 0) {
        throw new EOFException("the peer closed the connection");
      }
      if (n < 0) {
        throw new IOException(Errno.describe((int) -n));
      }
    }
    return true;
  }

  private long receive(ByteBuffer buffer) {
    long n = Sockets.receive(fd, scratch.address(), buffer.remaining());
    if (n > 0) {
      MemorySegment.copy(
          scratch, ValueLayout.JAVA_BYTE, 0, buffer.array(), buffer.arrayOffset() + buffer.position(), (int) n);
      buffer.position(buffer.position() + (int) n);
    }
    return n;
  }

  /** Takes a frame for sending; {@link #flush} sends it. */
  void write(Frame frame) {
    output.add(frame.encode());
  }

  /**
   * Sends what it can.
   *
   * @return true if nothing is left
   * @throws IOException if the connection failed
   */
  boolean flush() throws IOException {
    for (ByteBuffer next = output.peek(); next != null; next = output.peek()) {
      if (!(tls == null ? sendPlain(next) : sendSecret(tls, next))) {
        return false;
      }
      output.remove();
    }
    return tls == null || tls.flush();
  }

  private boolean sendPlain(ByteBuffer frame) throws IOException {
    while (frame.hasRemaining()) {
      MemorySegment.copy(
          frame.array(), frame.arrayOffset() + frame.position(), scratch, ValueLayout.JAVA_BYTE, 0, frame.remaining());
      if (!advanced(Sockets.send(fd, scratch.address(), frame.remaining()), frame, true)) {
        return false;
      }
    }
    return true;
  }

  private static boolean sendSecret(TlsChannel tls, ByteBuffer frame) throws IOException {
    while (frame.hasRemaining()) {
      if (!advanced(tls.write(frame), frame, false)) {
        return false;
      }
    }
    return true;
  }

  private static boolean advanced(long n, ByteBuffer frame, boolean move) throws IOException {
    if (n == -Errno.EAGAIN) {
      return false;
    }
    if (n < 0) {
      throw new IOException(Errno.describe((int) -n));
    }
    if (move) {
      frame.position(frame.position() + (int) n);
    }
    return n > 0;
  }

  boolean hasOutput() {
    return !output.isEmpty() || (tls != null && tls.holdsOutput());
  }

  /** Says something in clear on a connection whose TLS did not come about, so that the peer's user learns why. */
  void writeInClear(Frame frame) {
    ByteBuffer bytes = frame.encode();
    MemorySegment.copy(bytes.array(), bytes.arrayOffset(), scratch, ValueLayout.JAVA_BYTE, 0, bytes.remaining());
    Sockets.send(fd, scratch.address(), bytes.remaining()); // best effort: the connection ends here anyway
  }

  /** Reads what comes and drops it: true at the end of the stream, or if the connection failed. */
  boolean discard() {
    while (true) {
      long n = Sockets.receive(fd, scratch.address(), scratch.byteSize());
      if (n == -Errno.EAGAIN) {
        return false;
      }
      if (n <= 0) {
        return true;
      }
    }
  }

  /** Passes the socket to somebody else. */
  void release() {
    owned = false;
  }

  void close() {
    if (owned) {
      owned = false;
      Sockets.close(fd);
    }
  }
}
