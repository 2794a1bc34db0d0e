/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsChannel;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/** TLS records: the bytes pass through a buffer in each direction, since they are changed on the way. */
final class TlsWire implements Wire {
  private static final int BUFFER_BYTES = 64 * 1024;

  private final TlsChannel channel;
  private final ByteBuffer out = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final ByteBuffer in = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final long outAddress = MemorySegment.ofBuffer(out).address();
  private final long inAddress = MemorySegment.ofBuffer(in).address();
  private String failure = "";

  TlsWire(int fd, SSLEngine engine) {
    this.channel = new TlsChannel(fd, engine, TlsChannel.Reading.AHEAD);
  }

  @Override
  public long write(long places, int count) {
    long total = 0;
    int place = 0;
    long used = 0; // of the place
    while (place < count) {
      out.clear();
      int first = place;
      long firstUsed = used;
      while (place < count && out.hasRemaining()) {
        long at = places + (long) place * Places.BYTES;
        int n = (int) Math.min(Places.length(at) - used, out.remaining());
        RawMemory.copy(Places.address(at) + used, outAddress + out.position(), n);
        out.position(out.position() + n);
        used += n;
        if (used == Places.length(at)) {
          place++;
          used = 0;
        }
      }
      out.flip();
      long consumed;
      try {
        consumed = channel.write(out);
      } catch (SSLException e) {
        failure = "TLS: " + e.getMessage();
        return -Sockets.EPROTO;
      }
      if (consumed < 0) {
        return total > 0 ? total : consumed;
      }
      total += consumed;
      if (out.hasRemaining()) {
        return total > 0 ? total : -Errno.EAGAIN;
      }
      if (place == first && used == firstUsed) {
        return total; // only empty places were left
      }
    }
    return total;
  }

  @Override
  public long read(long places, int count) {
    long total = 0;
    for (int place = 0; place < count; place++) {
      long at = places + (long) place * Places.BYTES;
      long to = Places.address(at);
      long left = Places.length(at);
      while (left > 0) {
        in.clear().limit((int) Math.min(left, BUFFER_BYTES));
        long n;
        try {
          n = channel.read(in);
        } catch (SSLException e) {
          failure = "TLS: " + e.getMessage();
          return total > 0 ? total : -Sockets.EPROTO;
        }
        if (n <= 0) {
          return total > 0 ? total : n;
        }
        RawMemory.copy(inAddress, to, n);
        to += n;
        left -= n;
        total += n;
      }
    }
    return total;
  }

  @Override
  public boolean flush() {
    return channel.flush();
  }

  @Override
  public boolean holdsInput() {
    return channel.holdsInput();
  }

  @Override
  public String describe(int errno) {
    return errno == Sockets.EPROTO && !failure.isEmpty() ? failure : Errno.describe(errno);
  }
}
