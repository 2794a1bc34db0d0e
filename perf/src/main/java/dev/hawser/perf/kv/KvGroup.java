/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

/**
 * Layers that keep the same blocks.
 *
 * @param attention what their attention sees: {@code full}, {@code sliding 4096} or {@code latent}
 * @param layers how many there are
 * @param blocksPerLayer blocks that one of them needs for the tokens asked for
 * @param descriptorsPerBlock 2 if keys and values lie apart, else 1
 * @param blockBytes bytes of one descriptor
 */
public record KvGroup(String attention, int layers, int blocksPerLayer, int descriptorsPerBlock, long blockBytes) {

  /** Pieces of {@link #blockBytes} that the group has. */
  public long descriptors() {
    return Math.multiplyExact((long) layers * blocksPerLayer, descriptorsPerBlock);
  }

  /** All bytes of the group. */
  public long bytes() {
    return Math.multiplyExact(descriptors(), blockBytes);
  }
}
