/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.memory.BlockList;

/**
 * Where each block lies in a pool: layer after layer, in each the keys' blocks before the values'. Two workers with the
 * same model and pools of different size have different layouts.
 *
 * @param shape the model's
 * @param blocks blocks in each plane
 */
record PoolLayout(KvShape shape, int blocks) {
  /** The layout of a pool of which the length is known: a peer's. */
  static PoolLayout ofBytes(KvShape shape, long bytes) {
    long blockOfAllPlanes = (long) shape.planes() * shape.blockBytes();
    if (bytes % blockOfAllPlanes != 0) {
      throw new DemonstrationException(
          "a pool of " + bytes + " bytes is no whole number of blocks of " + blockOfAllPlanes
              + " bytes in all layers; let both workers use the same model");
    }
    return new PoolLayout(shape, Math.toIntExact(bytes / blockOfAllPlanes));
  }

  /** Bytes of the pool. */
  long bytes() {
    return (long) shape.planes() * blocks * shape.blockBytes();
  }

  /** The block's number in {@link #everyBlock}. */
  int index(int layer, Part part, int block) {
    return (layer * Part.values().length + part.plane()) * blocks + block;
  }

  /** The block's distance from the start of the pool, in bytes. */
  long offset(int layer, Part part, int block) {
    return (long) index(layer, part, block) * shape.blockBytes();
  }

  /** The numbers in {@link #everyBlock} of one layer's keys and values of some blocks, in the order of the blocks. */
  int[] layerIndices(int layer, int[] blockIds) {
    int[] indices = new int[Part.values().length * blockIds.length];
    int next = 0;
    for (Part part : Part.values()) {
      for (int id : blockIds) {
        indices[next++] = index(layer, part, id);
      }
    }
    return indices;
  }

  /** All blocks of a pool at this address; takes the same memory however many there are. */
  BlockList everyBlock(long address) {
    return BlockList.strided(address, shape.blockBytes(), shape.blockBytes(), (long) shape.planes() * blocks);
  }

  /**
   * Some blocks in all layers, of a pool at this address. Block by block, so that the planes of one are at one distance
   * and the list is as short as the ids are many.
   */
  BlockList inAllLayers(long address, int[] blockIds) {
    BlockList.Builder list = BlockList.builder();
    long planeBytes = (long) blocks * shape.blockBytes();
    for (int id : blockIds) {
      list.addStrided(address + offset(0, Part.K, id), planeBytes, shape.blockBytes(), shape.planes());
    }
    return list.build();
  }
}
