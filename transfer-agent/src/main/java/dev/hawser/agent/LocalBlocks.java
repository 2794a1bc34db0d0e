/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import org.jspecify.annotations.Nullable;

/** Resolves local blocks against this agent's registry. */
final class LocalBlocks extends BlockResolver<Region> {
  private final MemoryRegistry registry;
  private final Device device;
  private final boolean written;

  /**
   * A resolver.
   *
   * @param written whether the transfer writes to the blocks
   */
  LocalBlocks(MemoryRegistry registry, Device device, boolean written) {
    this.registry = registry;
    this.device = device;
    this.written = written;
  }

  @Override
  @Nullable
  Region find(long address, long length) {
    Region region = registry.find(address, length).orElse(null);
    return region != null && region.device().equals(device) && (region.writable() || !written) ? region : null;
  }

  @Override
  boolean covers(Region region, long address, long length) {
    return region.contains(address, length);
  }

  @Override
  UnresolvedBlocksException refusal(long index, long address, long length) {
    Region covering = registry.find(address, length).orElse(null);
    if (covering != null) {
      String problem = covering.device().equals(device)
          ? "lies in " + covering + ", which is read-only: a READ writes to local memory; register a writable segment"
          : "is said to be on " + device + ", but lies in " + covering + "; make the list for " + covering.device();
      return new UnresolvedBlocksException("local", index, address, length, problem);
    }
    Region nearest = null;
    long least = Long.MAX_VALUE;
    for (Region region : registry.regions()) {
      long gap = Gap.between(region.address(), region.length(), address, length);
      if (gap < least) {
        least = gap;
        nearest = region;
      }
    }
    return new UnresolvedBlocksException("local", index, address, length,
        nearest == null
            ? "is not registered: this agent has no region at all; call register or allocate first"
            : "is not within one registered region; the nearest is " + nearest + ", "
                + Gap.describe(nearest.address(), nearest.length(), address, length)
                + "; correct the block, or register its memory as one region");
  }
}
