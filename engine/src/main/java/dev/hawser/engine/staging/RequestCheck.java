/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import org.jspecify.annotations.Nullable;

/** Whether a peer may do what its request says, segment by segment. Owner thread only. */
public final class RequestCheck {
  private final MemoryRegistry registry;
  private @Nullable Region last;
  private Device device = Device.HOST;
  private boolean onDevice;
  private boolean isAllocated;

  /** Of requests for what a registry registers. */
  public RequestCheck(MemoryRegistry registry) {
    this.registry = registry;
  }

  /**
   * Checks one segment and takes a use of its region.
   *
   * @param write whether the peer wants to write
   * @return {@link WorkStatus#SUCCESS}, or why not
   */
  public WorkStatus admit(int regionId, long address, long length, boolean write, RegionUses uses) {
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
    if (!permitted || !region.contains(address, length) || !isReachable(region.device())) {
      return WorkStatus.REMOTE_ACCESS;
    }
    onDevice = !region.device().isHost();
    if (onDevice) {
      device = region.device();
    }
    isAllocated = region.isAllocated();
    if (!uses.retain(region)) {
      last = null;
      return WorkStatus.REMOTE_REGION_CLOSED;
    }
    return WorkStatus.SUCCESS;
  }

  /** Where a region lies; the host if there is none. */
  public Device deviceOf(int regionId) {
    Region region = last;
    if (region == null || region.id() != regionId) {
      region = registry.byId(regionId);
    }
    return region == null ? Device.HOST : region.device();
  }

  /** Another request begins: its segments may lie in memory of the host and of one device. */
  public void begin() {
    device = Device.HOST;
  }

  private boolean isReachable(Device other) {
    return other.isHost() || device.isHost() || device.equals(other);
  }

  /** The device that some segment of the request lies on; the host if none does. */
  public Device device() {
    return device;
  }

  /** Whether the segment that was admitted last is of memory that stays mapped. */
  public boolean isAllocated() {
    return isAllocated;
  }

  /** Whether the segment that was admitted last lies on it. */
  public boolean onDevice() {
    return onDevice;
  }
}
