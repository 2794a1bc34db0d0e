/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Regions whose memory was found to be gone although they are registered: their owner is told once of each. Thread-safe.
 */
final class LostMemory {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.tcp");

  private final MemoryRegistry registry;
  private final Set<Integer> told = ConcurrentHashMap.newKeySet();

  LostMemory(MemoryRegistry registry) {
    this.registry = registry;
  }

  /**
   * A peer's request met memory that is not there.
   *
   * @param address the first byte that is not
   * @param whose describes the path that the request came over
   * @return the id of the region, 0 if it was closed meanwhile
   */
  int met(long address, String whose) {
    for (Region region : registry.regions()) {
      if (region.device().isHost() && region.contains(address, 1)) {
        if (told.add(region.id())) {
          LOG.log(
              Level.WARNING,
              "the memory of %s is gone at 0x%x: its file was truncated, or it was unmapped, while it was registered; a request of a peer failed (%s), and so will all others; close a region before its memory goes"
                  .formatted(region, address, whose));
        }
        return region.id();
      }
    }
    return 0;
  }
}
