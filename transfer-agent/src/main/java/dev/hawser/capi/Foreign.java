/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The caller's memory, by address. */
@SuppressWarnings("restricted") // the caller's addresses are all that a C function gets
final class Foreign {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
  private static final long LONGEST_TEXT = 1 << 20;

  private Foreign() {}

  static int getInt(long address) {
    return ALL.get(ValueLayout.JAVA_INT_UNALIGNED, address);
  }

  static long getLong(long address) {
    return ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, address);
  }

  static void putByte(long address, byte value) {
    ALL.set(ValueLayout.JAVA_BYTE, address, value);
  }

  static void putInt(long address, int value) {
    ALL.set(ValueLayout.JAVA_INT_UNALIGNED, address, value);
  }

  static void putLong(long address, long value) {
    ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, address, value);
  }

  /** Stores a handle where the caller wants it. */
  static void putHandle(long address, long handle) {
    putLong(notNull(address, "the place for the handle"), handle);
  }

  static long notNull(long address, String what) {
    if (address == 0) {
      throw new IllegalArgumentException(what + " is NULL");
    }
    return address;
  }

  static long notNegative(long number, String what) {
    if (number < 0) {
      throw new IllegalArgumentException(what + ": " + number + " is negative");
    }
    return number;
  }

  /** The text at an address, or null at NULL. */
  static @Nullable String textOrNull(long address, String what) {
    if (address == 0) {
      return null;
    }
    try {
      return ALL.asSlice(address, LONGEST_TEXT).getString(0, StandardCharsets.UTF_8);
    } catch (IndexOutOfBoundsException e) {
      throw new IllegalArgumentException(what + " has no final NUL within " + LONGEST_TEXT + " bytes", e);
    }
  }

  static String text(long address, String what) {
    String text = textOrNull(address, what);
    if (text == null) {
      throw new IllegalArgumentException(what + " is NULL");
    }
    return text;
  }

  static MemorySegment segment(long address, long bytes) {
    return bytes == 0 ? MemorySegment.NULL : ALL.asSlice(address, bytes);
  }

  static byte[] bytes(long address, long count, String what) {
    if (notNegative(count, what) > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(what + ": " + count + " bytes are more than an array has");
    }
    if (count == 0) {
      return new byte[0];
    }
    return segment(notNull(address, what), count).toArray(ValueLayout.JAVA_BYTE);
  }

  /** Handles, one after the other. */
  static long[] longs(long address, long count, String what) {
    if (notNegative(count, what) > 1 << 24) {
      throw new IllegalArgumentException(what + ": " + count + " are more than there can be");
    }
    if (count == 0) {
      return new long[0];
    }
    return segment(notNull(address, what), count * Long.BYTES).toArray(ValueLayout.JAVA_LONG_UNALIGNED);
  }

  /** Indices of 4 or 8 bytes; null at NULL, for all, where none are counted. */
  static int @Nullable [] indices(long address, long count, int width, String what) {
    if (notNegative(count, what) != 0 && address == 0) {
      throw new IllegalArgumentException(
          what + " is NULL, but their count is " + count + "; give the indices, or NULL and 0 for all blocks");
    }
    if (address == 0) {
      return null;
    }
    if (count > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(what + ": " + count + " are more than a list has");
    }
    if (count == 0) {
      return new int[0];
    }
    if (width == Integer.BYTES) {
      return segment(address, count * Integer.BYTES).toArray(ValueLayout.JAVA_INT_UNALIGNED);
    }
    if (width != Long.BYTES) {
      throw new IllegalArgumentException(what + ": indices of " + width + " bytes; give int32_t or int64_t");
    }
    MemorySegment wide = segment(address, count * Long.BYTES);
    int[] indices = new int[(int) count];
    for (int i = 0; i < indices.length; i++) {
      long index = wide.getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i);
      if (index != (int) index) {
        throw new IllegalArgumentException(
            what + "[" + i + "]: " + index + " is out of bounds; lists have less than 2^31 blocks");
      }
      indices[i] = (int) index;
    }
    return indices;
  }

  /** Copies bytes into the caller's buffer if they fit; returns how many there are. */
  static long copyOut(byte[] bytes, long buffer, long capacity) {
    notNegative(capacity, "capacity");
    if (bytes.length <= capacity && bytes.length != 0) {
      MemorySegment.copy(bytes, 0, segment(notNull(buffer, "the buffer"), bytes.length), ValueLayout.JAVA_BYTE, 0,
          bytes.length);
    }
    return bytes.length;
  }

  /** Copies a text with a final NUL if it fits; returns its bytes without the NUL. */
  static long textOut(String text, long buffer, long capacity) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length < notNegative(capacity, "capacity")) {
      fixedText(bytes, notNull(buffer, "the buffer"), bytes.length + 1L);
    }
    return bytes.length;
  }

  /** Copies a text into a field of a struct, cut to what fits with a final NUL; returns the bytes copied. */
  static int fixedText(byte[] text, long field, long size) {
    int length = (int) Math.min(text.length, size - 1);
    MemorySegment.copy(text, 0, segment(field, size), ValueLayout.JAVA_BYTE, 0, length);
    putByte(field + length, (byte) 0);
    return length;
  }
}
