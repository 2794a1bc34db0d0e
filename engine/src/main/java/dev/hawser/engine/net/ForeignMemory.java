/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.memory.ffi.Processes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Memory that its owner may have freed meanwhile: the kernel is asked to touch it, and says no where this process would end.
 *
 * <p>Source: process_vm_readv(2). Not thread-safe. Allocates nothing after it was made.
 */
public final class ForeignMemory {
  /** Native memory that it needs: two elements of {@code struct iovec}. */
  public static final long NATIVE_BYTES = 32;

  private final long to;
  private final long from;

  /**
   * Uses native memory of the caller's.
   *
   * @param block its address, {@value #NATIVE_BYTES} bytes
   */
  public ForeignMemory(long block) {
    this.to = block;
    this.from = block + 16;
  }

  /**
   * Copies bytes to or from such memory. Where the kernel does not allow this call at all it is an ordinary copy, which sees
   * a truncated file only.
   *
   * @return false if something of it is not there; some bytes may have been copied
   */
  public boolean copy(long source, long destination, long bytes) {
    long done = 0;
    while (done < bytes) {
      long moved = move(Processes.self(), source + done, destination + done, bytes - done);
      if (moved == 0 || moved == -Errno.EFAULT) {
        return false;
      }
      if (moved < 0) {
        return RawMemory.tryCopy(source + done, destination + done, bytes - done);
      }
      done += moved;
    }
    return true;
  }

  private long move(int pid, long source, long destination, long bytes) {
    RawMemory.u64(to, destination);
    RawMemory.u64(to + 8, bytes);
    RawMemory.u64(from, source);
    RawMemory.u64(from + 8, bytes);
    return Processes.readFrom(pid, to, 1, from, 1);
  }

  /**
   * The first byte of a range that cannot be read; −1 if all can be, or if the kernel does not tell. Takes a system call for
   * each page: for the one moment in which something has failed.
   */
  public static long firstUnreadable(long address, long bytes) {
    return firstUnreadable(Processes.self(), address, bytes);
  }

  /** The same of another process's memory, by addresses of its own. */
  public static long firstUnreadable(int pid, long address, long bytes) {
    int page = PageMappings.pageBytes();
    try (Arena arena = Arena.ofConfined()) {
      ForeignMemory memory = new ForeignMemory(arena.allocate(NATIVE_BYTES, 8).address());
      MemorySegment one = arena.allocate(ValueLayout.JAVA_BYTE);
      for (long at = address; at - (address + bytes) < 0; at = (at & -page) + page) {
        if (memory.move(pid, at, one.address(), 1) == -Errno.EFAULT) {
          return at;
        }
      }
      return -1;
    }
  }
}
