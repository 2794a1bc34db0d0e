/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory that the registry allocated: an anonymous file, mapped and shared.
 *
 * <p>Source: memfd_create(2), mmap(2).
 */
final class HostAllocation extends OwnedAllocation {
  private final Arena arena = Arena.ofShared();
  private final long address;
  private final long mappedBytes;
  private final MemorySegment segment;
  private final Backing backing;

  private volatile boolean kept;
  private boolean unmapped; // by the one who frees

  @SuppressWarnings("restricted") // the bounds are those of the mapping
  HostAllocation(long address, long bytes, long mappedBytes, Backing backing) {
    this.address = address;
    this.mappedBytes = mappedBytes;
    this.backing = backing;
    this.segment = MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
  }

  @Override
  long address() {
    return address;
  }

  @Override
  long bytes() {
    return segment.byteSize();
  }

  Backing backing() {
    return backing;
  }

  MemorySegment segment() {
    return segment;
  }

  /** Has the pages stay mapped when the memory is given back; returns the bytes of their mapping. */
  long keepMapped() {
    kept = true;
    return mappedBytes;
  }

  /**
   * Gives the memory back. Its segments throw from then on.
   *
   * @throws IllegalStateException if a native call still uses one of its segments; nothing has happened then
   */
  @Override
  void free() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
    if (!unmapped) {
      if (!kept) {
        PageMappings.unmap(address, mappedBytes);
      }
      unmapped = true;
      FileDescriptors.close(backing.fd());
    }
  }
}
