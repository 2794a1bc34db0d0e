/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;

/** Block lists in local regions, checked against the region's bounds. */
public final class Blocks {
  private Blocks() {}

  /** The whole region as one block. */
  public static BlockList of(Region region) {
    return of(region, 0, region.length(), 1);
  }

  /** The whole region as blocks of equal length; a rest at the end is left out. */
  public static BlockList of(Region region, long blockBytes) {
    return of(region, 0, blockBytes, fitting(region.length(), blockBytes));
  }

  /**
   * Adjacent blocks of equal length.
   *
   * @param offset of the first within the region
   * @throws IllegalArgumentException if they do not fit, or the region is closed
   */
  public static BlockList of(Region region, long offset, long blockBytes, long count) {
    if (region.isClosing()) {
      throw new IllegalArgumentException(
          "region: " + region + " is closed; make lists of its blocks, and use them, before");
    }
    return in(region.toString(), region.address(), region.length(), region.device(), offset, blockBytes, count);
  }

  static long fitting(long length, long blockBytes) {
    if (blockBytes <= 0) {
      throw new IllegalArgumentException("blockBytes: " + blockBytes + " is not positive");
    }
    return length / blockBytes;
  }

  static BlockList in(String what, long address, long length, Device device, long offset, long blockBytes, long count) {
    if (offset < 0 || blockBytes < 0 || count < 0 || offset > length
        || (blockBytes != 0 && count > (length - offset) / blockBytes)) {
      throw new IllegalArgumentException("offset, blockBytes, count: " + count + " blocks of " + blockBytes
          + " bytes from offset " + offset + " are not within the " + length + " bytes of " + what);
    }
    return BlockList.strided(address + offset, blockBytes, blockBytes, count, device);
  }
}
