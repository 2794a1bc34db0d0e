/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.memory.BlockList;

/**
 * A region that a peer published, and block lists in it. It belongs to one incarnation of the peer.
 *
 * @param peer the peer's name
 * @param epoch the incarnation
 * @param published name, place and permissions
 */
public record PeerRegion(String peer, long epoch, PublishedRegion published) {
  /** The first byte, as the peer addresses it. */
  public long address() {
    return published.region().address();
  }

  /** Bytes. */
  public long length() {
    return published.region().length();
  }

  /** All of it as one block. */
  public BlockList blocks() {
    return blocks(0, length(), 1);
  }

  /** All of it as blocks of equal length; a rest at the end is left out. */
  public BlockList blocks(long blockBytes) {
    return blocks(0, blockBytes, Blocks.fitting(length(), blockBytes));
  }

  /**
   * Adjacent blocks of equal length.
   *
   * @param offset of the first within the region
   * @throws IllegalArgumentException if they do not fit
   */
  public BlockList blocks(long offset, long blockBytes, long count) {
    return Blocks.in(published.name(), address(), length(), published.region().device(), offset, blockBytes, count);
  }
}
