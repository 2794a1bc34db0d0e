/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Loss;
import dev.hawser.engine.mapped.PeerMapping;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.mapped.PeerRegions;
import dev.hawser.engine.net.ForeignMemory;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Finds out whose memory a copy met that was not there, page by page: for the one moment in which it has failed. */
final class MissingMemory {
  private MissingMemory() {}

  /** Looks at all memory of a part of a request. */
  static Loss find(boolean write, TransferPlan plan, long position, long length, IntFunction<PeerRegion> regions,
      int pid) {
    boolean kernelTells = KernelCopy.worksHere();
    SegmentCursor cursor = new SegmentCursor();
    @Nullable
    Loss here = null;
    @Nullable
    Loss there = null;
    @Nullable
    Loss first = null;
    for (cursor.start(plan, position, length); cursor.next();) {
      long local = firstMissing(cursor.localAddress(), cursor.length(), kernelTells);
      if (local != -1) {
        return local(local);
      }
      PeerRegion region = regions.apply(cursor.remoteRegion().id());
      if (firstMissing(region, cursor.remoteAddress(), cursor.length(), pid, kernelTells) != -1) {
        return remote(region.id());
      }
      if (here == null && !cursor.localRegion().isAllocated()) {
        here = local(cursor.localAddress());
      }
      if (there == null && !isSealed(region)) {
        there = remote(region.id());
      }
      if (first == null) {
        first = write ? remote(region.id()) : local(cursor.localAddress());
      }
    }
    // All can be read. So it is what was written: its file has a hole there, and the file system no room to fill it; or the
    // file was made longer again meanwhile. What registries allocate stays.
    Loss likely = write ? there : here;
    Loss other = write ? here : there;
    return likely != null ? likely : other != null ? other : Objects.requireNonNull(first, "an empty slice");
  }

  private static boolean isSealed(PeerRegion region) {
    PeerMapping mapping = region.mapping();
    return mapping != null && mapping.isSealed();
  }

  /** Of a copy between memory here and memory that stays. */
  static Loss here(long[] addresses, long[] lengths, int count) {
    boolean kernelTells = KernelCopy.worksHere();
    for (int i = 0; i < count; i++) {
      long missing = firstMissing(addresses[i], lengths[i], kernelTells);
      if (missing != -1) {
        return local(missing);
      }
    }
    return local(addresses[0]);
  }

  /** Of a copy between memory of the peer and memory that stays. */
  static Loss there(long[] addresses, long[] lengths, int[] ids, int count, PeerRegions regions, int pid) {
    boolean kernelTells = KernelCopy.worksHere();
    for (int i = 0; i < count; i++) {
      if (firstMissing(regions.get(ids[i]), addresses[i], lengths[i], pid, kernelTells) != -1) {
        return remote(ids[i]);
      }
    }
    return remote(ids[0]);
  }

  private static Loss local(long address) {
    return new Loss(WorkStatus.LOCAL_UNMAPPED, address);
  }

  private static Loss remote(int region) {
    return new Loss(WorkStatus.REMOTE_UNMAPPED, Integer.toUnsignedLong(region));
  }

  /** In a region of the peer's, by addresses there; −1 if all is there. */
  private static long firstMissing(PeerRegion region, long address, long bytes, int pid, boolean kernelTells) {
    return region.mapping() == null
        ? ForeignMemory.firstUnreadable(pid, address, bytes)
        : firstMissing(address + region.delta(), bytes, kernelTells);
  }

  /** In this process; −1 if all is there. */
  private static long firstMissing(long address, long bytes, boolean kernelTells) {
    if (kernelTells) {
      return ForeignMemory.firstUnreadable(address, bytes);
    }
    // As the copy did, which has met no worse than SIGBUS.
    int page = PageMappings.pageBytes();
    try (Arena arena = Arena.ofConfined()) {
      long one = arena.allocate(ValueLayout.JAVA_BYTE).address();
      for (long at = address; at - (address + bytes) < 0; at = (at & -page) + page) {
        if (!RawMemory.tryCopy(at, one, 1)) {
          return at;
        }
      }
      return -1;
    }
  }
}
