/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.memory.gpu.Gpu;

/**
 * Slots of pinned memory that another process can map: {@value StagingRing#SLOTS} of {@value StagingRing#SLOT_BYTES} bytes, and
 * behind them a table for each, of {@value #ENTRIES} entries. An entry says where a piece of the slot belongs:
 *
 * <pre>
 *  0 u64 address    8 u64 bytes    16 u32 region    20 u32 0
 * </pre>
 *
 * They stay as long as the process does: unpinning would wait for all that the device does.
 */
public final class SharedSlots {
  /** The most pieces of a slot. */
  public static final int ENTRIES = 1024;

  /** Bytes of an entry. */
  public static final int ENTRY_BYTES = 24;

  private static final long TABLES = (long) StagingRing.SLOTS * StagingRing.SLOT_BYTES;
  private static final int TABLE_BYTES = ENTRIES * ENTRY_BYTES;

  /** Bytes of all. */
  public static final long BYTES = TABLES + (long) StagingRing.SLOTS * TABLE_BYTES;

  private final int fd;
  private final FileDescriptors.Identity file;
  private final long address;

  private SharedSlots(int fd, long address) {
    this.fd = fd;
    this.file = FileDescriptors.identify(fd);
    this.address = address;
  }

  /** Makes and pins them, which takes time. */
  static SharedSlots pinned(Gpu gpu) {
    int fd = FileDescriptors.sealedMemory("hawser-kept-slots", 0, BYTES);
    boolean made = false;
    try {
      long address =
          PageMappings.map(BYTES, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
      try {
        var _ = gpu.pin(address, BYTES);
        made = true;
        return new SharedSlots(fd, address);
      } finally {
        if (!made) {
          PageMappings.unmap(address, BYTES);
        }
      }
    } finally {
      if (!made) {
        FileDescriptors.close(fd);
      }
    }
  }

  /** Where they begin in this process. */
  public long address() {
    return address;
  }

  /** Their file, which stays open. */
  public int fd() {
    return fd;
  }

  /** What proves to another process that it opened the right file. */
  public FileDescriptors.Identity file() {
    return file;
  }

  /** Where a slot begins, if the first one is at {@code address}. */
  public static long slot(long address, int slot) {
    return address + (long) slot * StagingRing.SLOT_BYTES;
  }

  /** Where an entry of a slot's table is, if the first slot is at {@code address}. */
  public static long entry(long address, int slot, int entry) {
    return address + TABLES + (long) slot * TABLE_BYTES + (long) entry * ENTRY_BYTES;
  }
}
