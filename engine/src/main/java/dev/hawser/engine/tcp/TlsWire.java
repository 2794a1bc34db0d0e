/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsChannel;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.Processes;
import java.lang.foreign.Arena;
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
  private final MemorySegment wholeBuffer = Arena.ofAuto().allocate(Places.BYTES, 8);
  private final long whole = wholeBuffer.address(); // the outgoing buffer, as an element of struct iovec
  private String failure = "";
  private long lost;

  TlsWire(int fd, SSLEngine engine) {
    this.channel = new TlsChannel(fd, engine, TlsChannel.Reading.AHEAD);
    Places.set(whole, outAddress, BUFFER_BYTES);
  }

  @Override
  public long write(long places, int count) {
    long total = 0;
    int place = 0;
    long used = 0; // of the place
    while (place < count) {
      int first = place;
      long firstUsed = used;
      long gathered = gather(places + (long) place * Places.BYTES, count - place, used);
      if (gathered < 0) {
        return total > 0 ? total : gathered;
      }
      for (long left = gathered; place < count; used = 0, place++) {
        long rest = Places.length(places + (long) place * Places.BYTES) - used;
        if (left < rest) {
          used += left;
          break;
        }
        left -= rest;
      }
      out.clear().limit((int) gathered);
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

  /**
   * Fills the buffer from places. The kernel copies: it says where memory is not there any more, and this process would end.
   *
   * @param used bytes of the first place that are left out
   * @return bytes, fewer if something behind them is not there, or {@code -EFAULT} if nothing is
   */
  private long gather(long places, int count, long used) {
    int needed = 0;
    long bytes = -used;
    for (; needed < count && bytes < BUFFER_BYTES; needed++) {
      bytes += Places.length(places + (long) needed * Places.BYTES);
    }
    Places.advance(places, used);
    long n = Processes.readFrom(Processes.self(), whole, 1, places, needed);
    if (n == 0 && bytes > 0) {
      n = -Errno.EFAULT;
    } else if (n < 0 && n != -Errno.EFAULT) {
      n = gatherUnchecked(places, needed);
    }
    Places.advance(places, -used);
    return n;
  }

  /** Where the kernel does not copy for us. */
  private long gatherUnchecked(long places, int count) {
    int done = 0;
    for (int i = 0; i < count && done < BUFFER_BYTES; i++) {
      long at = places + (long) i * Places.BYTES;
      int n = (int) Math.min(Places.length(at), BUFFER_BYTES - done);
      if (!RawMemory.tryCopy(Places.address(at), outAddress + done, n)) {
        return done > 0 ? done : -Errno.EFAULT;
      }
      done += n;
    }
    return done;
  }

  @Override
  public boolean readTellsLostPlaces() {
    return false; // what was taken from a record cannot be given back to it
  }

  @Override
  public long lost() {
    return lost;
  }

  @Override
  public long read(long places, int count) {
    long total = 0;
    lost = 0;
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
        if (!RawMemory.tryCopy(inAddress, to, n) && lost == 0) {
          lost = to; // what comes behind is taken off the wire all the same
        }
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
