/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The reading end of a ring of records. It trusts nothing that the peer wrote: a record is copied out before anyone looks
 * at it, for the peer could change it meanwhile.
 */
public final class RecordReader {
  /** Nothing to read. */
  public static final int NONE = 0;

  /** The peer wrote something that is no record; {@link #complaint} says what. */
  public static final int MALFORMED = -1;

  private static final int MASK = RecordWriter.CAPACITY - 1;

  private final PathSegment segment;
  private final ByteBuffer bytes;
  private final long base;
  private final long tailAt;
  private final long headAt;
  private final int maxMessage;
  private final ByteBuffer message;

  private long head;
  private long tail;
  private int taken;
  private long flushed;
  private String complaint = "";

  public RecordReader(PathSegment segment, Side writer, int maxMessage) {
    this.segment = segment;
    this.bytes = segment.buffer();
    this.base = writer.recordsFrom();
    this.tailAt = writer.recordTail();
    this.headAt = writer.peer().recordHead();
    this.maxMessage = maxMessage;
    this.message = ByteBuffer.allocateDirect(maxMessage).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Whether everything was read that the peer has published by now; {@link #next} goes no further than seen here. */
  public boolean isEmpty() {
    tail = segment.position(tailAt);
    return tail == head;
  }

  /** How far it has read. */
  public long position() {
    return head;
  }

  /**
   * Goes to the next record of those that {@link #isEmpty} saw.
   *
   * @return its kind, {@link #NONE} or {@link #MALFORMED}
   */
  public int next() {
    while (true) {
      if (head == tail) {
        return NONE;
      }
      if (tail - head < RecordWriter.HEADER_BYTES || tail - head > RecordWriter.CAPACITY || (tail & 7) != 0) {
        return malformed("the ring's tail is " + tail + " while its head is " + head);
      }
      int offset = (int) head & MASK;
      int length = segment.getInt(base + offset);
      int kind = segment.getInt(base + offset + 4);
      int toEnd = RecordWriter.CAPACITY - offset;
      long limit = Math.min(toEnd, tail - head);
      if (kind == RecordWriter.PAD) {
        if (toEnd > tail - head) {
          return malformed("a pad of " + toEnd + " bytes passes the tail");
        }
        head += toEnd;
        segment.position(headAt, head);
        continue;
      }
      if (length < 0 || length > maxMessage || RecordWriter.recordBytes(length) > limit) {
        return malformed("a record of kind " + kind + " claims " + length + " bytes where " + limit + " are left");
      }
      taken = RecordWriter.recordBytes(length);
      switch (kind) {
        case RecordWriter.MESSAGE -> {
          message.clear().limit(length);
          message.put(0, bytes, (int) base + offset + RecordWriter.HEADER_BYTES, length);
        }
        case RecordWriter.FLUSH, RecordWriter.ABORT_FLUSH -> {
          if (length != Long.BYTES) {
            return malformed("a flush has " + length + " bytes instead of 8");
          }
          flushed = segment.getLong(base + offset + RecordWriter.HEADER_BYTES);
        }
        default -> {
          return malformed("there is no record of kind " + kind);
        }
      }
      return kind;
    }
  }

  /** The message of the present record; valid until the next call of {@link #next}. */
  public ByteBuffer message() {
    return message;
  }

  /** The transfer of the present flush. */
  public long flushed() {
    return flushed;
  }

  public String complaint() {
    return complaint;
  }

  /** Gives the present record's room back. */
  public void consume() {
    head += taken;
    segment.position(headAt, head);
  }

  private int malformed(String what) {
    complaint = what;
    return MALFORMED;
  }
}
