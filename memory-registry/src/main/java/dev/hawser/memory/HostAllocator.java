/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.ffi.PageMappings;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;

/** Allocates host memory that peers on the same machine can map. */
final class HostAllocator {
  private static final System.Logger LOG = System.getLogger("dev.hawser.memory");
  private static final long HUGE_BYTES = 2 << 20;
  private static final Path SHMEM_ENABLED = Path.of("/sys/kernel/mm/transparent_hugepage/shmem_enabled");

  private final AtomicBoolean told = new AtomicBoolean();

  /**
   * Allocates memory filled with zeros.
   *
   * @throws AllocationException if the machine refuses; nothing is left behind
   */
  HostAllocation allocate(long bytes, AllocationOptions options) {
    if (bytes <= 0) {
      throw new InvalidMemoryException("bytes", bytes + " bytes cannot be allocated; ask for at least 1");
    }
    if (options.populate()) {
      refuseMoreThanThereIs(bytes);
    }
    if (options.hugePages() == HugePages.NO) {
      return base(bytes, options.populate(), "");
    }
    String reason;
    try {
      return mapped(bytes, HUGE_BYTES, FileDescriptors.MFD_HUGETLB | FileDescriptors.MFD_HUGE_2MB,
          Backing.Pages.HUGE, options.populate(), "");
    } catch (NativeCallException e) {
      reason = String.valueOf(e.getMessage());
      if (options.hugePages() == HugePages.REQUIRE) {
        throw new AllocationException(
            bytes,
            "no huge pages: " + reason + "; reserve them with 'sysctl vm.nr_hugepages=" + pages(bytes, HUGE_BYTES)
                + "', or use HugePages.TRY",
            e);
      }
    }
    String mode = transparentMode();
    if (mode.equals("advise") || mode.equals("always") || mode.equals("within_size")) {
      return noted(advised(bytes, options.populate(), "no pool of huge pages (" + reason + ")"));
    }
    return noted(
        base(
            bytes,
            options.populate(),
            "no pool of huge pages (" + reason + "), and transparent ones are off for shared memory ("
                + SHMEM_ENABLED + " is '" + mode + "'; 'advise' would turn them on)"));
  }

  private HostAllocation base(long bytes, boolean populate, String note) {
    try {
      return mapped(bytes, PageMappings.pageBytes(), 0, Backing.Pages.BASE, populate, note);
    } catch (NativeCallException e) {
      throw new AllocationException(bytes, e);
    }
  }

  private HostAllocation advised(long bytes, boolean populate, String note) {
    try {
      return mapped(bytes, PageMappings.pageBytes(), 0, Backing.Pages.TRANSPARENT_HUGE, populate, note);
    } catch (NativeCallException e) {
      throw new AllocationException(bytes, e);
    }
  }

  private static HostAllocation mapped(
      long bytes, long pageBytes, int flags, Backing.Pages pages, boolean populate, String note) {
    long fileBytes = Math.multiplyExact(pages(bytes, pageBytes), pageBytes);
    // Peers may map it for writing, and could cut it off under everybody.
    int fd = FileDescriptors.sealedMemory("hawser", flags, fileBytes);
    long address = 0;
    try {
      address =
          PageMappings.map(
              fileBytes, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
      String fullNote = note;
      if (pages == Backing.Pages.TRANSPARENT_HUGE) {
        int errno = PageMappings.advise(address, fileBytes, PageMappings.MADV_HUGEPAGE);
        if (errno != 0) {
          fullNote = note + ", and madvise(MADV_HUGEPAGE) failed: " + Errno.describe(errno);
        }
      }
      if (populate) {
        populate(address, fileBytes, pageBytes);
      }
      FileDescriptors.Identity file = FileDescriptors.identify(fd);
      Backing backing = new Backing(fd, 0, fileBytes, file.device(), file.inode(), pages, fullNote);
      return new HostAllocation(address, bytes, fileBytes, backing);
    } catch (RuntimeException | Error e) {
      if (address != 0) {
        PageMappings.unmap(address, fileBytes);
      }
      FileDescriptors.close(fd);
      throw e;
    }
  }

  private static void populate(long address, long bytes, long pageBytes) {
    int errno = PageMappings.advise(address, bytes, PageMappings.MADV_POPULATE_WRITE);
    if (errno == Errno.EINVAL) {
      // Linux before 5.14 does not know it. The pages are new, so writing zeros changes nothing.
      for (long at = 0; at < bytes; at += pageBytes) {
        HostMemory.ALL.set(ValueLayout.JAVA_BYTE, address + at, (byte) 0);
      }
    } else if (errno != 0) {
      throw new NativeCallException("madvise(" + bytes + " bytes, MADV_POPULATE_WRITE)", errno);
    }
  }

  private static long pages(long bytes, long pageBytes) {
    return (bytes - 1) / pageBytes + 1;
  }

  /** Populating more than there is would not fail: it would wake the out-of-memory killer. */
  private static void refuseMoreThanThereIs(long bytes) {
    AvailableMemory available = AvailableMemory.now();
    if (bytes > available.bytes()) {
      throw new AllocationException(
          bytes,
          "only " + available.bytes() + " bytes are available (" + available.limit()
              + "); ask for less, or free memory first");
    }
  }

  /** The mode in brackets, for example {@code never}, or {@code unknown}. */
  private static String transparentMode() {
    try {
      String modes = Files.readString(SHMEM_ENABLED);
      int open = modes.indexOf('[');
      int close = modes.indexOf(']');
      return open >= 0 && close > open ? modes.substring(open + 1, close) : "unknown";
    } catch (IOException e) {
      return "unknown"; // a kernel without transparent huge pages has no such file
    }
  }

  private HostAllocation noted(HostAllocation allocation) {
    if (told.compareAndSet(false, true)) {
      LOG.log(
          System.Logger.Level.INFO, "host memory is not made of pooled huge pages: {0}", allocation.backing().note());
    }
    return allocation;
  }
}
