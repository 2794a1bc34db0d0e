/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Families of models whose cache is known, with the rule by which their layers see all tokens or a window. Source: the
 * configuration classes of Hugging Face transformers, whose {@code layer_types}, where present, goes before the rule.
 */
enum ModelFamily {
  /** Every layer sees everything. */
  FULL(Windows.NONE, "llama", "granite", "olmo", "olmo2"),
  /** Every layer has the window, when there is one. */
  WINDOWED(Windows.ALL, "mistral", "mixtral", "ministral", "phi3", "starcoder2"),
  /** Layers from {@code max_window_layers} on have the window, when {@code use_sliding_window} says so. */
  QWEN(Windows.FROM_LAYER, "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_5_vl_text", "qwen3_vl_text"),
  /** Odd layers, counted from one, have the window. */
  ALTERNATING(Windows.ODD, "gemma2", "gpt_oss"),
  /** All but each {@code sliding_window_pattern}th layer have the window. */
  GEMMA3(Windows.PATTERN, "gemma3", "gemma3_text"),
  /** One latent vector per token and layer, the same on every rank. */
  LATENT(Windows.NONE, "deepseek_v2", "deepseek_v3", "kimi_k2");

  /** Which layers have a sliding window. */
  enum Windows {
    NONE, ALL, FROM_LAYER, ODD, PATTERN
  }

  private final Windows windows;
  @SuppressWarnings("ImmutableEnumChecker") // List.of is immutable
  private final List<String> modelTypes;

  ModelFamily(Windows windows, String... modelTypes) {
    this.windows = windows;
    this.modelTypes = List.of(modelTypes);
  }

  static ModelFamily of(ModelConfig config) {
    String type = config.string("model_type").toLowerCase(Locale.ROOT);
    for (ModelFamily family : values()) {
      if (family.modelTypes.contains(type)) {
        return family;
      }
    }
    throw config.refuse("model_type", " is '" + type + "', whose cache is not known; known are "
        + Arrays.stream(values()).flatMap(f -> f.modelTypes.stream()).sorted().collect(Collectors.joining(", ")));
  }

  Windows windows() {
    return windows;
  }
}
