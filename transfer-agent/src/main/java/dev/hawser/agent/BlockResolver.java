/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.BlockList;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the regions that blocks lie in. Whole runs are looked up first, so that a grid of a million blocks in one region
 * costs one look-up; single blocks are looked at only where a run is not in one region.
 */
abstract class BlockResolver<R> {
  private final List<R> found = new ArrayList<>();

  /** A region that covers the range and may be used, or null. */
  abstract @Nullable R find(long address, long length);

  abstract boolean covers(R region, long address, long length);

  /** Why the block cannot be resolved. */
  abstract UnresolvedBlocksException refusal(long index, long address, long length);

  /**
   * The regions of all blocks that are picked, each once, in the order of their first use.
   *
   * @param indices which blocks; null for all
   */
  final List<R> resolve(BlockList blocks, int @Nullable [] indices) {
    found.clear();
    List<BlockList.Run> scattered = new ArrayList<>();
    for (BlockList.Run run : blocks.runs()) {
      if (run.blockBytes() != 0 && run.count() != 0 && !hold(run.address(), run.extent())) {
        scattered.add(run);
      }
    }
    if (scattered.isEmpty()) {
      return found;
    }
    if (indices == null) {
      for (BlockList.Run run : scattered) {
        for (int index = run.firstIndex(); index < run.firstIndex() + run.count(); index++) {
          resolveBlock(blocks, index);
        }
      }
    } else {
      found.clear();
      for (int index : indices) {
        resolveBlock(blocks, index);
      }
    }
    return found;
  }

  private void resolveBlock(BlockList blocks, int index) {
    long length = blocks.length(index);
    if (length != 0 && !hold(blocks.address(index), length)) {
      throw refusal(index, blocks.address(index), length);
    }
  }

  private boolean hold(long address, long length) {
    for (int i = found.size() - 1; i >= 0; i--) {
      if (covers(found.get(i), address, length)) {
        return true;
      }
    }
    R region = find(address, length);
    if (region == null) {
      return false;
    }
    found.add(region);
    return true;
  }
}
