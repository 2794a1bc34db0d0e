/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;

/** All of the host's memory as one segment: for code that has checked its addresses, in this package only. */
final class HostMemory {
  /** Address n of the process is offset n. */
  @SuppressWarnings("restricted") // addresses are checked against regions before they come here
  static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  /**
   * A copy in one go keeps the JVM from its safepoints until it ends: this many bytes are some 200 µs. Larger pieces are
   * not faster.
   */
  static final long COPY_BYTES = 4 << 20;

  private HostMemory() {}

  static MemorySegment segment(long address, long length) {
    return ALL.asSlice(address, length);
  }

  /**
   * Copies bytes. {@code MemorySegment.copy} is as fast as the C library's {@code memcpy} by downcall from 1 KiB on, faster
   * below and above (it streams past the cache), and a page that is gone raises {@code InternalError} where memcpy would
   * end the process.
   */
  static void copy(long from, long to, long bytes) {
    if (bytes <= COPY_BYTES) {
      MemorySegment.copy(ALL, from, ALL, to, bytes);
    } else if (to <= from || to >= from + bytes) {
      copyUpwards(from, to, bytes);
    } else {
      copyDownwards(from, to, bytes);
    }
  }

  private static void copyUpwards(long from, long to, long bytes) {
    long done = 0;
    while (done < bytes) {
      long piece = Math.min(COPY_BYTES, bytes - done);
      MemorySegment.copy(ALL, from + done, ALL, to + done, piece);
      done += piece;
    }
  }

  private static void copyDownwards(long from, long to, long bytes) {
    long left = bytes;
    while (left > 0) {
      long piece = Math.min(COPY_BYTES, left);
      left -= piece;
      MemorySegment.copy(ALL, from + left, ALL, to + left, piece);
    }
  }
}
