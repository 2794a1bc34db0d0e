/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.PageMappings;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A peer's region in this process's address space. Its pages exist already; what is missing at first is their place in
 * this process's page table, which is filled in by blocks of {@value #BLOCK_BYTES} bytes: in one call that costs a fifth of
 * as many page faults. The {@link Populator} does it beforehand, and where it has not been yet, copies do it as they come
 * along. Owner thread only, except {@link #populateAll}.
 */
public final class PeerMapping {
  private static final int MADV_POPULATE_READ = 22;
  public static final int MADV_DONTFORK = 10;

  public static final long BLOCK_BYTES = 2L << 20;
  private static final long UNMAP_BYTES = 64L << 20;
  private static final int BITS = 64;

  private final long base;
  private final long bytes;
  private final boolean writable;
  private final boolean sealed;
  private final AtomicLongArray populated;
  private final AtomicLong missing;
  private long unmapped;
  private boolean unmapping; // guarded by this

  private PeerMapping(long base, long bytes, boolean writable, boolean sealed) {
    this.sealed = sealed;
    this.base = base;
    this.bytes = bytes;
    this.writable = writable;
    long blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    this.missing = new AtomicLong(blocks);
    this.populated = new AtomicLongArray(Math.toIntExact((blocks + BITS - 1) / BITS));
  }

  /**
   * Maps a part of a peer's file.
   *
   * @param path the peer's descriptor, below {@code /proc}
   * @param grant what the peer said of it
   * @param start where in the file to begin, a multiple of {@link #BLOCK_BYTES}
   * @param bytes how many
   * @param writable whether peers may write to the region
   * @throws NativeCallException if it cannot be opened or mapped
   * @throws IllegalStateException if it is another file
   */
  public static PeerMapping map(String path, Command grant, long start, long bytes, boolean writable) {
    int fd = FileDescriptors.open(path, writable ? FileDescriptors.O_RDWR : FileDescriptors.O_RDONLY);
    try {
      FileDescriptors.Identity file = FileDescriptors.identify(fd);
      if (file.device() != grant.device || file.inode() != grant.inode || file.size() < start + bytes) {
        throw new IllegalStateException(
            path + " is another file than the peer's (inode " + file.inode() + ", not " + grant.inode + ")");
      }
      int protection = writable ? PageMappings.PROT_READ | PageMappings.PROT_WRITE : PageMappings.PROT_READ;
      long base = PageMappings.map(bytes, protection, PageMappings.MAP_SHARED, fd, start);
      // Both are optional. A child that is being forked shall not hold the peer's memory; huge pages where there are any.
      PageMappings.advise(base, bytes, MADV_DONTFORK);
      PageMappings.advise(base, bytes, PageMappings.MADV_HUGEPAGE);
      return new PeerMapping(base, bytes, writable, FileDescriptors.isSizeSealed(fd));
    } finally {
      FileDescriptors.close(fd);
    }
  }

  /** Where it begins in this process. */
  public long base() {
    return base;
  }

  /** Whether nobody can cut its file off: its pages stay as long as the mapping does. */
  public boolean isSealed() {
    return sealed;
  }

  /** Whether every page has its place, or is being given it, so that {@link #populate} need not be called any more. */
  public boolean isPopulated() {
    return missing.getOpaque() <= 0;
  }

  /**
   * Fills the page table for a range about to be copied; beyond {@code blocks} calls of the kernel it leaves the rest to
   * page faults.
   *
   * @return how many calls were made
   */
  public int populate(long address, long length, int blocks) {
    int calls = 0;
    long last = (address + length - 1 - base) / BLOCK_BYTES;
    for (long block = (address - base) / BLOCK_BYTES; block <= last && calls < blocks; block++) {
      if (claim(block)) {
        calls++;
        populate(block);
      }
    }
    return calls;
  }

  /** Fills the page table from its end on, for so long at most, unless the mapping goes before. Any thread. */
  public void populateAll(long nanos) {
    long deadline = System.nanoTime() + nanos;
    long block = (bytes - 1) / BLOCK_BYTES;
    for (; block >= 0 && !isPopulated() && System.nanoTime() - deadline < 0; block--) {
      synchronized (this) {
        if (unmapping) {
          return;
        }
        if (claim(block)) {
          populate(block);
        }
      }
    }
  }

  private boolean claim(long block) {
    int word = (int) (block / BITS);
    long bit = 1L << block % BITS;
    if ((populated.getOpaque(word) & bit) != 0 || (populated.getAndUpdate(word, bits -> bits | bit) & bit) != 0) {
      return false;
    }
    missing.decrementAndGet();
    return true;
  }

  private void populate(long block) {
    long from = block * BLOCK_BYTES;
    int errno =
        PageMappings.advise(
            base + from,
            Math.min(BLOCK_BYTES, bytes - from),
            writable ? PageMappings.MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    if (errno != 0) {
      missing.set(0); // before Linux 5.14; page faults do the same, more slowly
    }
  }

  /** Unmaps the next part, so that a large mapping does not hold up its owner; true once all is gone. */
  public boolean unmapSome() {
    synchronized (this) {
      unmapping = true; // waits for one block at most
    }
    long part = Math.min(UNMAP_BYTES, bytes - unmapped);
    PageMappings.unmap(base + unmapped, part);
    unmapped += part;
    return unmapped == bytes;
  }
}
