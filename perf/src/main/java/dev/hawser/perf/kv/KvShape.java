/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import java.util.List;

/**
 * The blocks that one request's KV cache has on one rank.
 *
 * @param modelType the configuration's {@code model_type}
 * @param tokens tokens in the cache
 * @param blockTokens tokens per block
 * @param groups layers with their blocks, in the order of the first layer of each
 */
public record KvShape(String modelType, int tokens, int blockTokens, List<KvGroup> groups) {

  public KvShape {
    groups = List.copyOf(groups);
  }

  /** All bytes. */
  public long bytes() {
    return groups.stream().mapToLong(KvGroup::bytes).reduce(0, Math::addExact);
  }

  /** All pieces. */
  public long descriptors() {
    return groups.stream().mapToLong(KvGroup::descriptors).reduce(0, Math::addExact);
  }

  /** One line for people. */
  public String describe() {
    StringBuilder text = new StringBuilder(modelType).append(", ").append(tokens).append(" tokens:");
    String separator = " ";
    for (KvGroup group : groups) {
      text.append(separator).append(group.layers()).append(" layers ").append(group.attention()).append(" x ")
          .append(group.blocksPerLayer()).append(" blocks");
      if (group.descriptorsPerBlock() > 1) {
        text.append(" x ").append(group.descriptorsPerBlock());
      }
      text.append(" of ").append(group.blockBytes()).append(" B");
      separator = ", ";
    }
    return text.toString();
  }
}
