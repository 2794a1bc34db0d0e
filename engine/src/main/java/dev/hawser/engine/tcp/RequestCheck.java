/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import org.jspecify.annotations.Nullable;

/** Whether a peer may do what its request says, segment by segment. Owner thread only. */
final class RequestCheck {
  private final MemoryRegistry registry;
  private @Nullable Region last;

  RequestCheck(MemoryRegistry registry) {
    this.registry = registry;
  }

  /**
   * Checks one segment and takes a use of its region.
   *
   * @param write whether the peer wants to write
   * @return {@link WorkStatus#SUCCESS}, or why not
   */
  WorkStatus admit(int regionId, long address, long length, boolean write, RegionUses uses) {
    Region region = last;
    if (region == null || region.id() != regionId) {
      region = registry.byId(regionId);
      if (region == null) {
        return WorkStatus.REMOTE_REGION_CLOSED; // ids are never used again: it was there once, or never
      }
      last = region;
    }
    boolean permitted =
        write ? region.access().remoteWritable() && region.writable() : region.access().remoteReadable();
    if (!permitted || !region.contains(address, length) || !region.device().isHost()) {
      return WorkStatus.REMOTE_ACCESS;
    }
    if (!uses.retain(region)) {
      last = null;
      return WorkStatus.REMOTE_REGION_CLOSED;
    }
    return WorkStatus.SUCCESS;
  }
}
