/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes little-endian values into an array that grows. */
public final class ByteWriter {
  private ByteBuffer buffer = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);

  /** A writer of nothing yet. */
  public ByteWriter() {}

  /** An unsigned byte. */
  public ByteWriter u8(int value) {
    room(1).put((byte) value);
    return this;
  }

  /** An unsigned 16-bit number. */
  public ByteWriter u16(int value) {
    room(2).putShort((short) value);
    return this;
  }

  /** A 32-bit number. */
  public ByteWriter i32(int value) {
    room(4).putInt(value);
    return this;
  }

  /** A 64-bit number. */
  public ByteWriter i64(long value) {
    room(8).putLong(value);
    return this;
  }

  /** Bytes with no length before them. */
  public ByteWriter bytes(byte[] bytes) {
    room(bytes.length).put(bytes);
    return this;
  }

  /** Bytes behind their 16-bit length. */
  public ByteWriter shortBytes(byte[] bytes, int most, String field) {
    if (bytes.length > most) {
      throw new IllegalArgumentException(field + " has " + bytes.length + " bytes; at most " + most + " are allowed");
    }
    return u16(bytes.length).bytes(bytes);
  }

  /** UTF-8 text behind its 16-bit length. */
  public ByteWriter text(String text, int most, String field) {
    return shortBytes(text.getBytes(StandardCharsets.UTF_8), most, field);
  }

  /** Where the next byte goes. */
  public int position() {
    return buffer.position();
  }

  /** Overwrites four bytes at {@code position}. */
  public ByteWriter patch32(int position, int value) {
    buffer.putInt(position, value);
    return this;
  }

  /** Begins a section: its type and room for its length; the position to hand to {@link #endSection}. */
  public int beginSection(int type) {
    u16(type).u16(0).i32(0);
    return position();
  }

  /** Ends the section whose content began at {@code start}. */
  public ByteWriter endSection(int start) {
    return patch32(start - 4, position() - start);
  }

  /** A copy of what was written. */
  public byte[] toBytes() {
    return Arrays.copyOf(buffer.array(), buffer.position());
  }

  private ByteBuffer room(int bytes) {
    if (buffer.remaining() < bytes) {
      int wanted = Math.addExact(buffer.position(), bytes);
      int doubled = buffer.capacity() <= Integer.MAX_VALUE / 2 ? buffer.capacity() * 2 : Integer.MAX_VALUE - 8;
      ByteBuffer grown = ByteBuffer.allocate(Math.max(wanted, doubled)).order(ByteOrder.LITTLE_ENDIAN);
      grown.put(buffer.flip());
      buffer = grown;
    }
    return buffer;
  }
}
