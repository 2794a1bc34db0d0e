/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The slots of pinned memory that one path has, registered with its NIC as long as it has them: a key that its peer was told
 * ends with the path, since the ring goes to another one.
 */
final class RegisteredRings implements PathStaging.Use {
  private final VerbsDevice device;
  private final int access;
  private final Map<StagingRing, Long> regions = new ConcurrentHashMap<>(); // struct ibv_mr *
  private @Nullable StagingRing last;
  private long lastRegion;

  /**
   * None yet.
   *
   * @param remote whether the peer reads and writes them
   */
  RegisteredRings(VerbsDevice device, boolean remote) {
    this.device = device;
    this.access =
        VerbsAbi.AccessFlags.LOCAL_WRITE
            | (remote ? VerbsAbi.AccessFlags.REMOTE_WRITE | VerbsAbi.AccessFlags.REMOTE_READ : 0);
  }

  @Override
  public void begin(StagingRing ring) {
    regions.put(
        ring,
        device.context()
            .registerMemory(
                device.pd(), ring.address(0), (long) StagingRing.SLOTS * StagingRing.SLOT_BYTES, access));
  }

  @Override
  public void end(StagingRing ring) {
    Long region = regions.remove(ring);
    if (region != null) {
      device.deregister(region);
    }
  }

  @SuppressWarnings("ReferenceEquality") // the ring that was met last
  private long region(StagingRing ring) {
    if (ring != last) {
      lastRegion = Objects.requireNonNull(regions.get(ring), "a ring that the path does not have");
      last = ring;
    }
    return lastRegion;
  }

  /** Of a ring that the path has. */
  int localKey(StagingRing ring) {
    return RawMemory.u32(region(ring) + VerbsAbi.Mr.LKEY);
  }

  /** Of a ring that the path has. */
  int remoteKey(StagingRing ring) {
    return RawMemory.u32(region(ring) + VerbsAbi.Mr.RKEY);
  }
}
