/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;

/**
 * The frames on the wire, little-endian.
 *
 * <pre>
 *  0     1      2          4       8           16       24         32
 *  +-----+------+----------+-------+-----------+--------+----------+----------------------+---------
 *  |type |flags | segments | chunk | sequence  | length | transfer | segments × 16 bytes  | payload
 *  +-----+------+----------+-------+-----------+--------+----------+----------------------+---------
 *  a segment: u64 address, u32 length, u32 region
 * </pre>
 */
final class FrameLayout {
  static final int HEADER_BYTES = 32;
  static final int SEGMENT_BYTES = 16;

  /** The most segments that a request may have: as many places as one system call takes. */
  static final int MAX_SEGMENTS = 1024;

  /** The most bytes of one segment; a longer piece becomes several. */
  static final long MAX_SEGMENT_BYTES = 1L << 30;

  static final int MAX_MESSAGE_BYTES = 5120;

  static final int WRITE = 1;
  static final int READ = 2;
  static final int READ_DATA = 3;
  static final int FLUSH = 4;
  static final int MESSAGE = 5;
  static final int ACK = 6;
  static final int NACK = 7;
  static final int WITHDRAW = 8;

  /** READ_DATA, without payload: all pieces of this READ have come. */
  static final int FLAG_LAST = 1;

  /** FLUSH: of an ABORT. */
  static final int FLAG_ABORT = 1;

  private static final int TYPE = 0;
  private static final int FLAGS = 1;
  private static final int SEGMENTS = 2;
  private static final int CHUNK = 4;
  private static final int SEQUENCE = 8;
  private static final int LENGTH = 16;
  private static final int TRANSFER = 24;

  private static final int SEGMENT_LENGTH = 8;
  private static final int SEGMENT_REGION = 12;

  private FrameLayout() {}

  static void writeHeader(
      long at, int type, int flags, int segments, int chunk, long sequence, long length, long transfer) {
    RawMemory.u8(at + TYPE, type);
    RawMemory.u8(at + FLAGS, flags);
    RawMemory.u16(at + SEGMENTS, segments);
    RawMemory.u32(at + CHUNK, chunk);
    RawMemory.u64(at + SEQUENCE, sequence);
    RawMemory.u64(at + LENGTH, length);
    RawMemory.u64(at + TRANSFER, transfer);
  }

  /** The same frame without segments and payload. */
  static void empty(long at) {
    RawMemory.u16(at + SEGMENTS, 0);
    RawMemory.u64(at + LENGTH, 0);
  }

  static int type(long at) {
    return RawMemory.u8(at + TYPE);
  }

  static int flags(long at) {
    return RawMemory.u8(at + FLAGS);
  }

  static int segments(long at) {
    return RawMemory.u16(at + SEGMENTS);
  }

  static int chunk(long at) {
    return RawMemory.u32(at + CHUNK);
  }

  static long sequence(long at) {
    return RawMemory.u64(at + SEQUENCE);
  }

  static long length(long at) {
    return RawMemory.u64(at + LENGTH);
  }

  static long transfer(long at) {
    return RawMemory.u64(at + TRANSFER);
  }

  static void writeSegment(long at, long address, long length, int region) {
    RawMemory.u64(at, address);
    RawMemory.u32(at + SEGMENT_LENGTH, (int) length);
    RawMemory.u32(at + SEGMENT_REGION, region);
  }

  static long segmentAddress(long at) {
    return RawMemory.u64(at);
  }

  static long segmentLength(long at) {
    return RawMemory.u32(at + SEGMENT_LENGTH) & 0xffff_ffffL;
  }

  static int segmentRegion(long at) {
    return RawMemory.u32(at + SEGMENT_REGION);
  }

  static String name(int type) {
    return switch (type) {
      case WRITE -> "WRITE";
      case READ -> "READ";
      case READ_DATA -> "READ_DATA";
      case FLUSH -> "FLUSH";
      case MESSAGE -> "MESSAGE";
      case ACK -> "ACK";
      case NACK -> "NACK";
      case WITHDRAW -> "WITHDRAW";
      default -> "frame type " + type;
    };
  }
}
