/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import org.jspecify.annotations.Nullable;

/**
 * What to derive from a configuration.
 *
 * @param tokens tokens in the cache, 1 or more
 * @param blockTokens tokens per block
 * @param tensorParallel ranks that share the heads
 * @param layout where keys and values lie
 * @param dtype element type of the cache ({@code bfloat16}, {@code fp8}, …); null: the model's own
 */
public record KvRequest(int tokens, int blockTokens, int tensorParallel, KvLayout layout, @Nullable String dtype) {

  /** Tokens per block that vLLM takes by itself. */
  public static final int DEFAULT_BLOCK_TOKENS = 16;

  public KvRequest {
    atLeastOne("--tokens", tokens);
    atLeastOne("--kv-block-tokens", blockTokens);
    atLeastOne("--kv-tp", tensorParallel);
  }

  private static void atLeastOne(String option, int value) {
    if (value < 1) {
      throw new KvModelException(option + " is " + value + "; it must be 1 or more");
    }
  }
}
