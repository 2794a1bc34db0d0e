/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Memory by raw address, for code that has checked the addresses against regions or made them itself. All integers are
 * little-endian and may lie anywhere. A wrong address ends the process.
 */
public final class RawMemory {
  @SuppressWarnings("restricted") // addresses are checked before they come here
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private static final ValueLayout.OfShort U16 = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt U32 = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong U64 = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private RawMemory() {}

  /** Reads a byte, unsigned. */
  public static int u8(long address) {
    return ALL.get(ValueLayout.JAVA_BYTE, address) & 0xff;
  }

  /** Reads two bytes, unsigned. */
  public static int u16(long address) {
    return ALL.get(U16, address) & 0xffff;
  }

  /** Reads four bytes. */
  public static int u32(long address) {
    return ALL.get(U32, address);
  }

  /** Reads eight bytes. */
  public static long u64(long address) {
    return ALL.get(U64, address);
  }

  /** Writes a byte. */
  public static void u8(long address, int value) {
    ALL.set(ValueLayout.JAVA_BYTE, address, (byte) value);
  }

  /** Writes two bytes. */
  public static void u16(long address, int value) {
    ALL.set(U16, address, (short) value);
  }

  /** Writes four bytes. */
  public static void u32(long address, int value) {
    ALL.set(U32, address, value);
  }

  /** Writes eight bytes. */
  public static void u64(long address, long value) {
    ALL.set(U64, address, value);
  }

  /** Copies bytes; the ranges may overlap. */
  public static void copy(long from, long to, long bytes) {
    MemorySegment.copy(ALL, from, ALL, to, bytes);
  }

  /**
   * Copies bytes whose pages may be gone behind a file that was truncated; the ranges may overlap. Memory that was unmapped
   * ends the process all the same: see {@link ForeignMemory}.
   *
   * @return false if some page was gone; bytes of others may have been copied
   */
  public static boolean tryCopy(long from, long to, long bytes) {
    try {
      copy(from, to, bytes);
      PendingFault.raise();
      return true;
    } catch (InternalError e) {
      return false; // how the JVM reports SIGBUS
    }
  }

  /** Copies between native memory and a segment. */
  static void copy(long from, MemorySegment to, long offset, long bytes) {
    MemorySegment.copy(ALL, from, to, offset, bytes);
  }

  static MemorySegment segment(long address, long bytes) {
    return ALL.asSlice(address, bytes);
  }
}
