/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
import java.nio.ByteBuffer;

/**
 * The writing end of a ring of records: single producer, single consumer, in shared memory.
 *
 * <p>A record is a length (u32, of its payload), a kind (u32) and the payload, padded to 8 bytes, contiguous; a record that
 * would wrap is preceded by one of kind {@link #PAD} that fills the rest. Records are written first and published later,
 * which keeps them in order behind data that is still being moved.
 */
public final class RecordWriter {
  public static final int MESSAGE = 1;
  public static final int FLUSH = 2;
  public static final int ABORT_FLUSH = 3;
  public static final int PAD = 4;

  public static final int HEADER_BYTES = 8;
  public static final int CAPACITY = PathSegment.RECORD_RING_BYTES;
  private static final int MASK = CAPACITY - 1;

  private final PathSegment segment;
  private final ByteBuffer bytes;
  private final long base;
  private final long tailAt;
  private final long headAt;

  private long written;
  private long published;
  private long knownHead;

  public RecordWriter(PathSegment segment, Side writer) {
    this.segment = segment;
    this.bytes = segment.buffer();
    this.base = writer.recordsFrom();
    this.tailAt = writer.recordTail();
    this.headAt = writer.peer().recordHead();
  }

  /** What a record of {@code payload} bytes takes in the ring, without the padding at its end. */
  public static int recordBytes(int payload) {
    return (HEADER_BYTES + payload + 7) & ~7;
  }

  /** True if {@code bytes} bytes are free. */
  public boolean hasRoom(long bytes) {
    return CAPACITY - (written - knownHead) >= bytes || CAPACITY - (written - readHead()) >= bytes;
  }

  /** Writes a message; false if it does not fit now. */
  public boolean write(ByteBuffer message) {
    int length = message.remaining();
    long at = reserve(MESSAGE, length);
    if (at < 0) {
      return false;
    }
    bytes.put((int) at, message, message.position(), length);
    return true;
  }

  /** Writes a flush; false if it does not fit now. */
  public boolean writeFlush(long transfer, boolean abort) {
    long at = reserve(abort ? ABORT_FLUSH : FLUSH, Long.BYTES);
    if (at < 0) {
      return false;
    }
    segment.putLong(at, transfer);
    return true;
  }

  /** Behind the last record written. */
  public long written() {
    return written;
  }

  /** Shows the peer every record up to {@code position}. */
  public void publish(long position) {
    published = position;
    segment.position(tailAt, position);
  }

  /** Up to where the peer has read. */
  public long readHead() {
    long head = segment.position(headAt);
    // Anything else would be a broken peer; its ring then stays full.
    if (head - knownHead >= 0 && head - published <= 0) {
      knownHead = head;
    }
    return knownHead;
  }

  private long reserve(int kind, int payload) {
    int record = recordBytes(payload);
    int offset = (int) written & MASK;
    int pad = record <= CAPACITY - offset ? 0 : CAPACITY - offset;
    if (!hasRoom((long) record + pad)) {
      return -1;
    }
    if (pad > 0) {
      segment.putInt(base + offset, pad - HEADER_BYTES);
      segment.putInt(base + offset + 4, PAD);
      offset = 0;
    }
    segment.putInt(base + offset, payload);
    segment.putInt(base + offset + 4, kind);
    written += record + pad;
    return base + offset + HEADER_BYTES;
  }
}
