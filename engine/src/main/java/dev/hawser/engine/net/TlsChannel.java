/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;

/**
 * TLS records over a non-blocking stream socket, which stays its maker's to close.
 *
 * <p>In {@link Reading#EXACT} mode it never takes more from the socket than the record at hand, so that a socket can
 * change hands between two records; in {@link Reading#AHEAD} mode it takes what is there. Not thread-safe.
 *
 * <p>Source: RFC 8446 §5.1 for the record header; {@link SSLEngine}.
 */
public final class TlsChannel {
  private static final int RECORD_HEADER_BYTES = 5;
  private static final int FIRST_CONTENT_TYPE = 20;
  private static final int LAST_CONTENT_TYPE = 24;
  private static final int RECORDS_BUFFERED = 4;
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** How much is taken from the socket at once. */
  public enum Reading {
    /** One record at a time. */
    EXACT,
    /** What is there. */
    AHEAD
  }

  /** What a handshake waits for. */
  public enum Handshake {
    /** It is complete, and our last record is out. */
    DONE,
    /** The socket to become readable. */
    READ,
    /** The socket to become writable. */
    WRITE,
    /** {@link SSLEngine#getDelegatedTask} to be run, on a thread that may take its time. */
    TASK
  }

  private final int fd;
  private final SSLEngine engine;
  private final Reading reading;
  private final int maxRecordBytes;
  private final ByteBuffer in; // ciphertext, from 0 to position
  private final ByteBuffer out; // ciphertext, from position to limit
  private final ByteBuffer plain; // plaintext, from position to limit
  private final long inAddress;
  private final long outAddress;
  private boolean begun;

  /** A channel over a connected socket. */
  public TlsChannel(int fd, SSLEngine engine, Reading reading) {
    this.fd = fd;
    this.engine = engine;
    this.reading = reading;
    this.maxRecordBytes = engine.getSession().getPacketBufferSize();
    this.in = ByteBuffer.allocateDirect(maxRecordBytes * RECORDS_BUFFERED);
    this.out = ByteBuffer.allocateDirect(maxRecordBytes * RECORDS_BUFFERED).limit(0);
    this.plain = ByteBuffer.allocateDirect(engine.getSession().getApplicationBufferSize()).limit(0);
    this.inAddress = MemorySegment.ofBuffer(in).address();
    this.outAddress = MemorySegment.ofBuffer(out.duplicate().clear()).address();
  }

  /** The engine. */
  public SSLEngine engine() {
    return engine;
  }

  /**
   * Goes on with the handshake as far as it can.
   *
   * @throws SSLException if the peers do not trust each other or do not both speak TLS
   */
  public Handshake handshake() throws SSLException {
    if (!begun) {
      begun = true;
      engine.beginHandshake();
    }
    while (true) {
      if (!flush()) {
        return Handshake.WRITE;
      }
      switch (engine.getHandshakeStatus()) {
        case NOT_HANDSHAKING, FINISHED -> {
          return Handshake.DONE;
        }
        case NEED_TASK -> {
          return Handshake.TASK;
        }
        case NEED_WRAP -> wrap(NOTHING);
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
          long n = fillRecord();
          if (n == -Errno.EAGAIN) {
            return Handshake.READ;
          }
          if (n == 0) {
            throw new SSLException("the peer closed the connection during the TLS handshake");
          }
          if (n < 0) {
            throw new SSLException("TLS handshake: " + Errno.describe((int) -n));
          }
          unwrap();
        }
      }
    }
  }

  /**
   * Decrypts into {@code destination}, as much as is there and fits.
   *
   * @return bytes; 0 at the end of the stream; {@code -EAGAIN} if there is nothing now, or another negative error number
   * @throws SSLException if a record is not what TLS allows
   */
  public long read(ByteBuffer destination) throws SSLException {
    long before = destination.position();
    while (destination.hasRemaining()) {
      if (plain.hasRemaining()) {
        int n = Math.min(plain.remaining(), destination.remaining());
        destination.put(destination.position(), plain, plain.position(), n);
        destination.position(destination.position() + n);
        plain.position(plain.position() + n);
        continue;
      }
      if (engine.isInboundDone()) {
        return destination.position() - before;
      }
      long n = fillRecord();
      if (n <= 0) {
        long read = destination.position() - before;
        return read > 0 ? read : n;
      }
      unwrap();
      settle();
      if (reading == Reading.EXACT && plain.hasRemaining()) {
        // At most one record for each call, so that nothing beyond the reader's frame is taken.
        int m = Math.min(plain.remaining(), destination.remaining());
        destination.put(destination.position(), plain, plain.position(), m);
        destination.position(destination.position() + m);
        plain.position(plain.position() + m);
        return destination.position() - before;
      }
    }
    return destination.position() - before;
  }

  /** Decrypted bytes that wait for {@link #read}, or whole records that wait for decryption. */
  public boolean holdsInput() {
    return plain.hasRemaining() || (in.position() >= RECORD_HEADER_BYTES && in.position() >= recordBytes());
  }

  /**
   * Encrypts from {@code source} and sends. What it consumed is no longer read, even if its ciphertext still waits for
   * {@link #flush}.
   *
   * @return bytes consumed; {@code -EAGAIN} if there is no room, or another negative error number
   * @throws SSLException if the engine cannot go on
   */
  public long write(ByteBuffer source) throws SSLException {
    long error = send();
    if (error < 0) {
      return error;
    }
    int before = source.position();
    while (source.hasRemaining() && wrap(source)) {
      // Records gather in the buffer: one system call sends several.
    }
    error = send();
    int consumed = source.position() - before;
    return consumed == 0 && error < 0 ? error : consumed;
  }

  /** Sends ciphertext that waits; true if none is left, or if the connection failed, which the next call reports. */
  public boolean flush() {
    return send() != -Errno.EAGAIN;
  }

  /** True if ciphertext waits for room in the socket. */
  public boolean holdsOutput() {
    return out.hasRemaining();
  }

  /** 0, or the negative error number. */
  private long send() {
    while (out.hasRemaining()) {
      long n = Sockets.send(fd, outAddress + out.position(), out.remaining());
      if (n < 0) {
        return n;
      }
      out.position(out.position() + (int) n);
    }
    return 0;
  }

  /** True if a record was made, or there was something to consume. */
  private boolean wrap(ByteBuffer source) throws SSLException {
    if (out.capacity() - out.limit() < maxRecordBytes) {
      out.compact().flip();
      if (out.capacity() - out.limit() < maxRecordBytes) {
        return false;
      }
    }
    int start = out.position();
    out.position(out.limit()).limit(out.capacity());
    try {
      SSLEngineResult result = engine.wrap(source, out);
      if (result.getStatus() == SSLEngineResult.Status.CLOSED && result.bytesProduced() == 0) {
        throw new SSLException("the TLS session is closed");
      }
      return result.bytesProduced() > 0;
    } finally {
      out.limit(out.position()).position(start);
    }
  }

  /** Makes a whole record available at the start of {@link #in}: 1, 0 at the end, or a negative error number. */
  private long fillRecord() throws SSLException {
    while (true) {
      int have = in.position();
      int need = have < RECORD_HEADER_BYTES ? RECORD_HEADER_BYTES : recordBytes();
      if (have >= RECORD_HEADER_BYTES && have >= need) {
        return 1;
      }
      int room = (reading == Reading.EXACT ? need : in.capacity()) - have;
      long n = Sockets.receive(fd, inAddress + have, room);
      if (n == 0 && have > 0) {
        throw new SSLException("the stream ended within a TLS record");
      }
      if (n <= 0) {
        return n;
      }
      in.position(have + (int) n);
      if (have < RECORD_HEADER_BYTES && in.position() >= RECORD_HEADER_BYTES) {
        checkHeader();
      }
    }
  }

  private int recordBytes() {
    return RECORD_HEADER_BYTES + ((in.get(3) & 0xff) << 8 | (in.get(4) & 0xff));
  }

  private void checkHeader() throws SSLException {
    int type = in.get(0);
    if (type < FIRST_CONTENT_TYPE || type > LAST_CONTENT_TYPE || in.get(1) != 3 || recordBytes() > maxRecordBytes) {
      throw new SSLException("the peer does not speak TLS: set up TLS on both sides or on neither");
    }
  }

  /** Takes the record at the start of {@link #in}; {@link #plain} is empty. */
  private void unwrap() throws SSLException {
    int end = in.position();
    in.flip();
    plain.clear();
    try {
      SSLEngineResult result = engine.unwrap(in, plain);
      switch (result.getStatus()) {
        case OK, CLOSED -> {}
        case BUFFER_OVERFLOW, BUFFER_UNDERFLOW ->
          throw new SSLException("a TLS record of " + recordBytes() + " bytes: " + result.getStatus());
      }
    } finally {
      plain.flip();
      int consumed = in.position();
      in.limit(end).position(consumed);
      in.compact();
    }
    if (in.position() >= RECORD_HEADER_BYTES) {
      checkHeader();
    }
  }

  /** Answers what a peer may ask for after the handshake: new keys. */
  private void settle() throws SSLException {
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> {
          for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
          }
        }
        case NEED_WRAP -> {
          if (engine.isOutboundDone() || !wrap(NOTHING)) {
            return; // no room now: the next write comes past here again
          }
        }
        default -> {
          return;
        }
      }
    }
  }
}
