/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static dev.hawser.memory.ffi.SystemCalls.systemCall;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The process's page table as Linux lets it be changed. Addresses are raw; unmapping what is in use ends the process.
 *
 * <p>Source: mmap(2), madvise(2), mlock(2), msync(2). Thread-safe.
 */
public final class PageMappings {
  public static final int PROT_READ = 0x1;
  public static final int PROT_WRITE = 0x2;

  public static final int MAP_SHARED = 0x01;
  public static final int MAP_PRIVATE = 0x02;
  public static final int MAP_ANONYMOUS = 0x20;

  private static final int MAP_FIXED_NOREPLACE = 0x100000;

  public static final int MADV_HUGEPAGE = 14;
  public static final int MADV_POPULATE_WRITE = 23;

  private static final int MS_ASYNC = 1; // does nothing but look whether the pages are there
  private static final long MAP_FAILED = -1;
  private static final int PAGE_BYTES = queryPageBytes();
  private static final Path MAPS = Path.of("/proc/self/maps");

  private PageMappings() {}

  /** The size of a base page in bytes. */
  public static int pageBytes() {
    return PAGE_BYTES;
  }

  /**
   * Maps pages.
   *
   * @param bytes length; the kernel rounds it up to whole pages
   * @param protection of {@code PROT_}
   * @param flags of {@code MAP_}
   * @param fd the file, or −1 with {@link #MAP_ANONYMOUS}
   * @param offset where in the file, in bytes; a multiple of the page size
   * @return the address
   * @throws NativeCallException if Linux refuses, for example {@code ENOMEM}
   */
  public static long map(long bytes, int protection, int flags, int fd, long offset) {
    MemorySegment errno = Errno.capture();
    long address = systemCall(PosixBindings.Mappings.MMAP, errno, 0L, bytes, protection, flags, fd, offset);
    if (address == MAP_FAILED) {
      throw new NativeCallException(
          "mmap(" + bytes + " bytes, fd " + fd + ", offset " + offset + ")", Errno.of(errno));
    }
    return address;
  }

  /**
   * Maps a file, shared and writable, at an address that nothing is mapped at.
   *
   * @throws NativeCallException if something is ({@code EEXIST}), or Linux refuses
   */
  public static void mapSharedAt(long address, long bytes, int fd, long offset) {
    MemorySegment errno = Errno.capture();
    long got = systemCall(PosixBindings.Mappings.MMAP, errno, address, bytes, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_FIXED_NOREPLACE, fd, offset);
    if (got == address) {
      return;
    }
    int error = got == MAP_FAILED ? Errno.of(errno) : Errno.EEXIST;
    if (got != MAP_FAILED) {
      unmap(got, bytes); // a Linux before 4.17 takes the address for a hint
    }
    throw failed("mmap", address, bytes, error);
  }

  /**
   * Unmaps whole pages.
   *
   * @throws NativeCallException if Linux refuses, for example {@code EINVAL} for an address inside a page
   */
  public static void unmap(long address, long bytes) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Mappings.MUNMAP, errno, address, bytes);
    if (rc < 0) {
      throw failed("munmap", address, bytes, errno);
    }
  }

  /**
   * Advises the kernel.
   *
   * @param advice of {@code MADV_}
   * @return 0, or the error number: advice is optional, so the caller decides what a refusal means
   */
  public static int advise(long address, long bytes, int advice) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Mappings.MADVISE, errno, address, bytes, advice);
    return rc < 0 ? Errno.of(errno) : 0;
  }

  /**
   * Keeps pages in memory until {@link #unlock}.
   *
   * @throws NativeCallException if Linux refuses: {@code ENOMEM} or {@code EPERM} mean that {@code ulimit -l} is too low
   */
  public static void lock(long address, long bytes) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Mappings.MLOCK, errno, address, bytes);
    if (rc < 0) {
      throw failed("mlock", address, bytes, errno);
    }
  }

  /**
   * Undoes {@link #lock}.
   *
   * @throws NativeCallException if Linux refuses
   */
  public static void unlock(long address, long bytes) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Mappings.MUNLOCK, errno, address, bytes);
    if (rc < 0) {
      throw failed("munlock", address, bytes, errno);
    }
  }

  /** Whether the page of an address is mapped, readable or not. Touches nothing. */
  public static boolean isMapped(long address) {
    MemorySegment errno = Errno.capture();
    int rc = (int) systemCall(PosixBindings.Mappings.MSYNC, errno, address & -PAGE_BYTES, PAGE_BYTES, MS_ASYNC);
    if (rc < 0 && Errno.of(errno) != Errno.ENOMEM) {
      throw failed("msync", address, PAGE_BYTES, errno);
    }
    return rc == 0;
  }

  /**
   * Whether the page of an address may be read, but not written to, as that of a file that was mapped for reading only.
   * Where it may be written to, it is in memory afterwards.
   */
  public static boolean isReadOnly(long address) {
    // Cheap, and known to Linux 5.14; what it refuses may have other reasons.
    return advise(address & -PAGE_BYTES, PAGE_BYTES, MADV_POPULATE_WRITE) != 0
        && permissions(address).startsWith("r-");
  }

  /** As {@code r-xp}; empty if that is not known. */
  private static String permissions(long address) {
    try (Stream<String> mappings = Files.lines(MAPS, StandardCharsets.ISO_8859_1)) {
      return mappings.filter(line -> covers(line, address)).findFirst().map(line -> line.split(" ", 3)[1]).orElse("");
    } catch (IOException | UncheckedIOException e) {
      return ""; // no /proc here
    }
  }

  private static boolean covers(String mapping, long address) {
    int dash = mapping.indexOf('-');
    long from = Long.parseUnsignedLong(mapping, 0, dash, 16);
    long to = Long.parseUnsignedLong(mapping, dash + 1, mapping.indexOf(' '), 16);
    return Long.compareUnsigned(address, from) >= 0 && Long.compareUnsigned(address, to) < 0;
  }

  private static NativeCallException failed(String call, long address, long bytes, MemorySegment errno) {
    return failed(call, address, bytes, Errno.of(errno));
  }

  private static NativeCallException failed(String call, long address, long bytes, int error) {
    return new NativeCallException(call + "(0x" + Long.toHexString(address) + ", " + bytes + " bytes)", error);
  }

  private static int queryPageBytes() {
    try {
      return (int) PosixBindings.Mappings.GETPAGESIZE.invokeExact();
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }
}
