/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.PublishedRegion;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one incarnation of a peer, from all blobs so far. Immutable.
 *
 * @param metadata the connection, and all regions
 * @param connectionRevision of the blob that told the connection; 0 if none did
 * @param completeRevision of the newest blob that told all regions; 0 if none did
 * @param revisions by region id, of the blob that told it last
 * @param byName the regions that have names
 * @param index the regions by address
 */
record PeerState(AgentMetadata metadata, long connectionRevision, long completeRevision, Map<Integer, Long> revisions,
    Map<String, PublishedRegion> byName, RegionIndex index) {

  long epoch() {
    return metadata.epoch();
  }

  /** The state after a first blob, or after one of a newer epoch. */
  static PeerState first(AgentMetadata told) {
    return merge(null, told);
  }

  /**
   * The state after another blob of the same epoch: of what two blobs tell differently the newer revision holds, and what
   * a complete one does not have is gone.
   */
  PeerState merged(AgentMetadata told) {
    return merge(this, told);
  }

  private static PeerState merge(@Nullable PeerState old, AgentMetadata told) {
    if (old != null && old.completeRevision > told.revision()) {
      // A newer blob told everything: what this one has besides has gone since.
      return old;
    }
    Map<Integer, PublishedRegion> regions = new HashMap<>();
    Map<Integer, Long> revisions = new HashMap<>();
    if (old != null) {
      for (PublishedRegion region : old.metadata.regions()) {
        int id = region.region().id();
        long revision = old.revisions.getOrDefault(id, 0L);
        if (!told.complete() || revision > told.revision()) {
          regions.put(id, region);
          revisions.put(id, revision);
        }
      }
    }
    for (PublishedRegion region : told.regions()) {
      int id = region.region().id();
      if (revisions.getOrDefault(id, 0L) <= told.revision()) {
        regions.put(id, region);
        revisions.put(id, told.revision());
      }
    }
    boolean newConnection = told.connection() && (old == null || old.connectionRevision <= told.revision());
    AgentMetadata connection = newConnection || old == null ? told : old.metadata;
    long connectionRevision = newConnection ? told.revision() : old == null ? 0 : old.connectionRevision;
    long completeRevision = told.complete() ? told.revision() : old == null ? 0 : old.completeRevision;
    List<PublishedRegion> all = new ArrayList<>(regions.values());
    AgentMetadata merged = new AgentMetadata(told.name(), told.epoch(),
        Math.max(told.revision(), old == null ? 0 : old.metadata.revision()), completeRevision != 0,
        connectionRevision != 0, connection.host(), connection.pid(), connection.addresses(), connection.transports(),
        all);
    Map<String, PublishedRegion> byName = new HashMap<>();
    for (PublishedRegion region : all) {
      if (!region.name().isEmpty()) {
        byName.put(region.name(), region);
      }
    }
    return new PeerState(merged, connectionRevision, completeRevision, Map.copyOf(revisions), Map.copyOf(byName),
        new RegionIndex(all));
  }
}
