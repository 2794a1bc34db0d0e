/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Builds a frame's payload. */
final class PayloadWriter {
  private ByteBuffer out = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN);

  PayloadWriter u8(int value) {
    room(1).put((byte) value);
    return this;
  }

  PayloadWriter u16(int value) {
    room(2).putShort((short) value);
    return this;
  }

  PayloadWriter u32(int value) {
    room(4).putInt(value);
    return this;
  }

  PayloadWriter u64(long value) {
    room(8).putLong(value);
    return this;
  }

  PayloadWriter raw(byte[] bytes) {
    room(bytes.length).put(bytes);
    return this;
  }

  /** A length of two bytes, then the bytes. */
  PayloadWriter bytes(byte[] bytes, int max, String what) {
    if (bytes.length > max) {
      throw new IllegalArgumentException(what + " has " + bytes.length + " bytes; at most " + max + " are allowed");
    }
    return u16(bytes.length).raw(bytes);
  }

  /** UTF-8, as {@link #bytes}. */
  PayloadWriter text(String text, int max, String what) {
    return bytes(text.getBytes(StandardCharsets.UTF_8), max, what);
  }

  byte[] done() {
    return Arrays.copyOf(out.array(), out.position());
  }

  private ByteBuffer room(int bytes) {
    if (out.remaining() < bytes) {
      int position = out.position();
      out =
          ByteBuffer.wrap(Arrays.copyOf(out.array(), Math.max(out.capacity() * 2, position + bytes)))
              .order(ByteOrder.LITTLE_ENDIAN)
              .position(position);
    }
    return out;
  }
}
