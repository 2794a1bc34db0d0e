/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Pages of this process's own, filled with zeros, that cost nothing until they are touched. Its owner works on raw
 * addresses and must be done with them before it closes it.
 */
public final class NativeBlock implements AutoCloseable {
  private final long address;
  private final long bytes;
  private boolean closed;

  private NativeBlock(long address, long bytes) {
    this.address = address;
    this.bytes = bytes;
  }

  /** Maps a block; the kernel rounds it up to whole pages. */
  public static NativeBlock map(long bytes) {
    long address =
        PageMappings.map(
            bytes,
            PageMappings.PROT_READ | PageMappings.PROT_WRITE,
            PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS,
            -1,
            0);
    return new NativeBlock(address, bytes);
  }

  /** The first byte, at the start of a page. */
  public long address() {
    return address;
  }

  /** A little-endian view of a part of it, which must not be used after {@link #close}. */
  public ByteBuffer view(long offset, int length) {
    if (offset < 0 || length < 0 || offset > bytes - length) {
      throw new IndexOutOfBoundsException(offset + "+" + length + " of " + bytes + " bytes");
    }
    return RawMemory.segment(address + offset, length).asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Copies a buffer's remaining bytes to {@code offset}, and leaves the buffer as it was. */
  public void put(long offset, ByteBuffer from) {
    int length = from.remaining();
    if (offset < 0 || offset > bytes - length) {
      throw new IndexOutOfBoundsException(offset + "+" + length + " of " + bytes + " bytes");
    }
    MemorySegment.copy(MemorySegment.ofBuffer(from), 0, RawMemory.segment(address + offset, length), 0, length);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      PageMappings.unmap(address, bytes);
    }
  }
}
