/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.util.Collection;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/** A peer's regions by address: finds the one that covers a range in O(log n) where regions do not overlap. Immutable. */
final class RegionIndex {
  static final RegionIndex EMPTY = new RegionIndex(java.util.List.of());

  private final RemoteRegion[] byAddress;
  /** For each region the highest end of it and of all before it: how far back a look-up has to go. */
  private final long[] highestEnd;

  RegionIndex(Collection<PublishedRegion> regions) {
    byAddress = regions.stream().map(PublishedRegion::region)
        .sorted(Comparator.comparingLong(RemoteRegion::address)).toArray(RemoteRegion[]::new);
    highestEnd = new long[byAddress.length];
    long highest = 0;
    for (int i = 0; i < byAddress.length; i++) {
      highest = Math.max(highest, byAddress[i].address() + byAddress[i].length());
      highestEnd[i] = highest;
    }
  }

  /** The region on {@code device} that covers the range and grants {@code access}; of several the innermost. */
  @Nullable
  RemoteRegion find(Device device, long address, long length, Access access) {
    for (int i = lastAtOrBefore(address); i >= 0 && highestEnd[i] >= address + length; i--) {
      RemoteRegion region = byAddress[i];
      if (region.contains(address, length) && region.device().equals(device) && region.access().allows(access)) {
        return region;
      }
    }
    return null;
  }

  /** The region nearest to the range, whatever it grants and wherever it is; null if there is none. */
  @Nullable
  RemoteRegion nearest(long address, long length) {
    RemoteRegion best = null;
    long bestGap = Long.MAX_VALUE;
    for (RemoteRegion region : byAddress) {
      long gap = Gap.between(region.address(), region.length(), address, length);
      if (gap < bestGap) {
        bestGap = gap;
        best = region;
      }
    }
    return best;
  }

  private int lastAtOrBefore(long address) {
    int low = 0;
    int high = byAddress.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (byAddress[middle].address() <= address) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return high;
  }
}
