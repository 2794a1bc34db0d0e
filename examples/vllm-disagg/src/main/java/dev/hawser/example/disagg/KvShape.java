/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/**
 * The shape of a model's paged KV cache.
 *
 * @param layers transformer layers, each with keys and values of its own
 * @param kvHeads key/value heads
 * @param headDim elements of one head
 * @param elementBytes bytes of one element
 * @param blockTokens tokens of one block
 */
record KvShape(int layers, int kvHeads, int headDim, int elementBytes, int blockTokens) {
  /** Layers of Llama 3.1 8B. */
  static final int LLAMA_LAYERS = 32;

  /** Llama 3.1 8B in bf16 with vLLM's blocks of 16 tokens, of as many layers as asked for. */
  static KvShape llama(int layers) {
    return new KvShape(layers, 8, 128, 2, 16);
  }

  /** Bytes of one block of one layer's keys, or of its values. */
  int blockBytes() {
    return blockTokens * kvHeads * headDim * elementBytes;
  }

  /** Blocks that the prompt takes in each plane; the last one may be filled in part, and is moved whole. */
  int blocksFor(int tokens) {
    return Math.ceilDiv(tokens, blockTokens);
  }

  /** Tensors of blocks: one for the keys and one for the values of each layer. */
  int planes() {
    return layers * Part.values().length;
  }
}
