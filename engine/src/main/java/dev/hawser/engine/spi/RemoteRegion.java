/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.util.Map;

/**
 * A peer's registered memory, as its metadata says.
 *
 * @param id u32, the peer's region id
 * @param address the region's first byte in the peer's address space
 * @param length bytes
 * @param device where it lies
 * @param access what the peer permits
 * @param keys by transport name, what that transport's {@link dev.hawser.memory.RegionBinder}
 *     published
 */
public record RemoteRegion(
    int id, long address, long length, Device device, Access access, Map<String, byte[]> keys) {

  /** True if all of {@code [address, address + length)} lies in this region. */
  public boolean contains(long start, long bytes) {
    long offset = start - address;
    return offset >= 0 && bytes >= 0 && offset <= length - bytes;
  }

  @Override
  public String toString() {
    return "region %d [0x%x, +%d) on %s".formatted(id & 0xffffffffL, address, length, device);
  }
}
