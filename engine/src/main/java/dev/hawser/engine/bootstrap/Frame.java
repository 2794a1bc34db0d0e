/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * One bootstrap frame.
 *
 * <pre>
 *  0        4  5  6      8            12
 *  +--------+--+--+------+------------+---------
 *  | magic  |v |t | zero | length     | payload
 *  +--------+--+--+------+------------+---------
 * </pre>
 *
 * All integers are little-endian; {@code v} is the version of this layout, {@code t} the type.
 */
@SuppressWarnings("ArrayRecordComponent") // compared by equals below
record Frame(FrameType type, byte[] payload) {
  static final int HEADER_BYTES = 12;

  /** Of the payload. */
  static final int MAX_PAYLOAD_BYTES = 64 * 1024;

  /** On the wire: {@code HWSB}. */
  static final int MAGIC = 'H' | 'W' << 8 | 'S' << 16 | 'B' << 24;

  static final int LAYOUT_VERSION = 1;

  private static final int VERSION_AT = 4;
  private static final int TYPE_AT = 5;
  private static final int ZERO_AT = 6;
  private static final int LENGTH_AT = 8;

  /** The checked header. */
  record Header(FrameType type, int payloadBytes) {}

  static Header header(ByteBuffer header) throws MalformedFrameException {
    ByteBuffer in = header.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    int magic = in.getInt(0);
    if (magic != MAGIC) {
      throw new MalformedFrameException(
          "it does not speak Hawser's protocol: its first bytes are 0x%08x".formatted(Integer.reverseBytes(magic)));
    }
    int version = in.get(VERSION_AT) & 0xff;
    if (version != LAYOUT_VERSION) {
      throw new MalformedFrameException("frame layout " + version + " is not known, only " + LAYOUT_VERSION);
    }
    FrameType type = FrameType.of(in.get(TYPE_AT) & 0xff);
    if (type == null || in.getShort(ZERO_AT) != 0) {
      throw new MalformedFrameException(
          "frame type " + (in.get(TYPE_AT) & 0xff) + " with flags " + in.getShort(ZERO_AT) + " is not known");
    }
    int length = in.getInt(LENGTH_AT);
    if (length < 0 || length > MAX_PAYLOAD_BYTES) {
      throw new MalformedFrameException(
          type + " of " + Integer.toUnsignedString(length) + " bytes; at most " + MAX_PAYLOAD_BYTES + " are allowed");
    }
    return new Header(type, length);
  }

  /** Header and payload, from position to limit. */
  ByteBuffer encode() {
    ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + payload.length).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(MAGIC).put((byte) LAYOUT_VERSION).put((byte) type.number()).putShort((short) 0).putInt(payload.length);
    return out.put(payload).flip();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Frame f && type == f.type && Arrays.equals(payload, f.payload);
  }

  @Override
  public int hashCode() {
    return 31 * type.hashCode() + Arrays.hashCode(payload);
  }

  @Override
  public String toString() {
    return type + "(" + payload.length + " bytes)";
  }
}
