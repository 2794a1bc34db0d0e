/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Reads little-endian values and never behind the end; an error names the field and the offset. */
public final class ByteReader {
  private final ByteBuffer buffer;
  private final int origin;

  public ByteReader(byte[] bytes) {
    this(ByteBuffer.wrap(bytes), 0);
  }

  private ByteReader(ByteBuffer buffer, int origin) {
    this.buffer = buffer.order(ByteOrder.LITTLE_ENDIAN);
    this.origin = origin;
  }

  /** Bytes left. */
  public int remaining() {
    return buffer.remaining();
  }

  /** An unsigned byte. */
  public int u8(String field) {
    need(1, field);
    return buffer.get() & 0xff;
  }

  /** An unsigned 16-bit number. */
  public int u16(String field) {
    need(2, field);
    return buffer.getShort() & 0xffff;
  }

  /** A 32-bit number as its bits. */
  public int i32(String field) {
    need(4, field);
    return buffer.getInt();
  }

  /** A 64-bit number as its bits. */
  public long i64(String field) {
    need(8, field);
    return buffer.getLong();
  }

  /** An unsigned 32-bit count of things that take at least {@code leastBytes} each, which must fit in what is left. */
  public int count(String field, int leastBytes) {
    int at = position();
    long count = i32(field) & 0xffff_ffffL;
    if (count * leastBytes > remaining()) {
      throw new MalformedBytesException(
          field + " at byte " + at + " says " + count + ", but only " + remaining() + " bytes follow");
    }
    return (int) count;
  }

  /** Exactly {@code length} bytes. */
  public byte[] bytes(int length, String field) {
    need(length, field);
    byte[] bytes = new byte[length];
    buffer.get(bytes);
    return bytes;
  }

  /** Bytes behind a 16-bit length of at most {@code most}. */
  public byte[] shortBytes(int most, String field) {
    int at = position();
    int length = u16(field);
    if (length > most) {
      throw new MalformedBytesException(
          field + " at byte " + at + " has " + length + " bytes; at most " + most + " are allowed");
    }
    return bytes(length, field);
  }

  /** UTF-8 text behind a 16-bit length of at most {@code most} bytes. */
  public String text(int most, String field) {
    int at = position();
    byte[] bytes = shortBytes(most, field);
    if (isAscii(bytes)) {
      return new String(bytes, StandardCharsets.ISO_8859_1);
    }
    try {
      CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      return text.toString();
    } catch (CharacterCodingException e) {
      throw new MalformedBytesException(field + " at byte " + at + " is not UTF-8");
    }
  }

  /** A reader of the next {@code length} bytes, which this one steps over. */
  public ByteReader slice(int length, String field) {
    need(length, field);
    int at = position();
    ByteReader slice = new ByteReader(buffer.slice(buffer.position(), length), at);
    buffer.position(buffer.position() + length);
    return slice;
  }

  /** Refuses bytes that are left over. */
  public void end(String what) {
    if (buffer.hasRemaining()) {
      throw new MalformedBytesException(what + " has " + remaining() + " bytes too many at byte " + position());
    }
  }

  /** Offset from the beginning of the whole. */
  public int position() {
    return origin + buffer.position();
  }

  private void need(int bytes, String field) {
    if (bytes > buffer.remaining()) {
      throw new MalformedBytesException(
          "cut short: " + field + " at byte " + position() + " needs " + bytes + " bytes, " + remaining()
              + " are left");
    }
  }

  private static boolean isAscii(byte[] bytes) {
    for (byte b : bytes) {
      if (b < 0) {
        return false;
      }
    }
    return true;
  }
}
