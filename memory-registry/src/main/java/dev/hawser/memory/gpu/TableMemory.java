/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Memory of one device for tables that are kept from one copy to the next. It grows by slabs that are never given back:
 * freeing memory waits for all that the device does, and holds up every other call meanwhile. Thread-safe.
 */
final class TableMemory {
  private static final long SLAB_BYTES = 8 << 20;
  private static final int MOST_SLABS = 32;
  private static final int SMALLEST_BITS = 12;
  private static final int LARGEST_BITS = Long.numberOfTrailingZeros(CopyBatch.TABLE_BYTES);

  private final Gpu gpu;
  private final List<Deque<Long>> free = new ArrayList<>(); // guarded by this; by size, from the smallest on
  private long next; // guarded by this; the rest of the newest slab
  private long end; // guarded by this
  private int slabs; // guarded by this
  private boolean scarce; // guarded by this

  TableMemory(Gpu gpu) {
    this.gpu = gpu;
    for (int bits = SMALLEST_BITS; bits <= LARGEST_BITS; bits++) {
      free.add(new ArrayDeque<>());
    }
  }

  private static int bits(long bytes) {
    return Math.max(SMALLEST_BITS, Long.SIZE - Long.numberOfLeadingZeros(bytes - 1));
  }

  /** Room for a table of at most {@link CopyBatch#TABLE_BYTES}; 0 if there is none, see {@link #grow}. Asks no driver. */
  synchronized long take(long bytes) {
    int bits = bits(bytes);
    Long given = free.get(bits - SMALLEST_BITS).poll();
    if (given != null) {
      return given;
    }
    long address = next;
    if (end - address < 1L << bits) {
      scarce = slabs < MOST_SLABS;
      return 0;
    }
    next += 1L << bits;
    return address;
  }

  /** Nothing reads it any more. */
  synchronized void give(long address, long bytes) {
    free.get(bits(bytes) - SMALLEST_BITS).add(address);
  }

  /** Whether more memory would help. */
  synchronized boolean isShort() {
    return scarce;
  }

  /** Adds a slab, if one is wanted. Takes time; nothing of it is ever freed. */
  void grow() {
    synchronized (this) {
      if (!scarce && slabs > 0) {
        return;
      }
      scarce = false;
      slabs++;
    }
    GpuBuffer slab = gpu.allocate(SLAB_BYTES);
    synchronized (this) {
      for (long at = next; end - at >= 1L << SMALLEST_BITS; at += 1L << SMALLEST_BITS) {
        free.getFirst().add(at);
      }
      next = slab.address();
      end = next + SLAB_BYTES;
    }
  }
}
