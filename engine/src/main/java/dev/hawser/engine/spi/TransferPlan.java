/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;

/**
 * The bytes of one transfer: pairs of pieces, and the regions they lie in on both sides. Immutable
 * and thread-safe; walked by {@link SegmentCursor}.
 */
public final class TransferPlan {
  private final BlockPairs pairs;
  private final Region[] local;
  private final RemoteRegion[] remote;

  /**
   * Checks nothing: the caller has resolved every piece against the regions (see the agent's
   * prepare).
   *
   * @param local regions that cover every local piece
   * @param remote regions that cover every remote piece
   */
  public TransferPlan(BlockPairs pairs, Region[] local, RemoteRegion[] remote) {
    this.pairs = pairs;
    this.local = local.clone();
    this.remote = remote.clone();
  }

  public BlockPairs pairs() {
    return pairs;
  }

  public long totalBytes() {
    return pairs.totalBytes();
  }

  public int localRegions() {
    return local.length;
  }

  public Region localRegion(int index) {
    return local[index];
  }

  public int remoteRegions() {
    return remote.length;
  }

  public RemoteRegion remoteRegion(int index) {
    return remote[index];
  }

  /** Whether memory of a device is among it, here or there. */
  public boolean touchesDevice() {
    for (Region region : local) {
      if (!region.device().isHost()) {
        return true;
      }
    }
    for (RemoteRegion region : remote) {
      if (!region.device().isHost()) {
        return true;
      }
    }
    return false;
  }
}
