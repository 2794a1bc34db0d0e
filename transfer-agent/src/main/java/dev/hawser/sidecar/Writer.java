/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Puts an answer together, its header included. */
final class Writer {
  private static final int FIRST_BYTES = 256;

  private byte[] bytes = new byte[FIRST_BYTES];
  private int used = Message.HEADER_BYTES;

  private int reserve(long more) {
    long needed = used + more;
    if (needed > Message.MOST_BYTES) {
      throw new SidecarException("an answer of " + needed + " bytes is longer than a message may be");
    }
    if (needed > bytes.length) {
      bytes = Arrays.copyOf(bytes, (int) Math.max(needed, Math.min(2L * bytes.length, Message.MOST_BYTES)));
    }
    int place = used;
    used += (int) more;
    return place;
  }

  private ByteBuffer buffer() {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** 64 bits. */
  Writer number(long value) {
    int place = reserve(Long.BYTES);
    buffer().putLong(place, value);
    return this;
  }

  /** Bytes. */
  Writer content(MemorySegment content) {
    int place = reserve(Integer.BYTES + content.byteSize());
    buffer().putInt(place, (int) content.byteSize());
    MemorySegment.copy(content, ValueLayout.JAVA_BYTE, 0, bytes, place + Integer.BYTES, (int) content.byteSize());
    return this;
  }

  Writer text(String text) {
    return content(MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** All of it, as the answer to a message of this number. */
  byte[] message(int number) {
    buffer().putInt(0, used - Message.HEADER_BYTES).putShort(Integer.BYTES, (short) number);
    return Arrays.copyOf(bytes, used);
  }
}
