/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Derives the blocks of a KV cache, as a paged attention engine keeps them, from a Hugging Face {@code config.json}.
 */
public final class KvModel {
  /** Fields that change what a layer keeps, in ways that are not known here. */
  private static final List<String> UNKNOWN_FIELDS = List.of("attention_chunk_size", "index_head_dim", "index_topk",
      "num_kv_shared_layers", "full_attention_interval", "linear_num_value_heads", "linear_num_key_heads",
      "mamba_d_state", "mamba_num_heads", "ssm_state_size", "state_size", "attn_layer_period", "cla_share_factor",
      "global_head_dim", "num_global_key_value_heads", "compress_ratios", "v_head_dim_per_layer");
  private static final int GEMMA3_PATTERN = 6;
  /** In place of a window: the layer sees everything. */
  private static final int UNLIMITED = 0;
  /** Ten times what the largest have. */
  private static final int MAX_LAYERS = 4096;

  private final ModelConfig config;
  private final KvRequest request;
  private final ModelFamily family;

  private KvModel(ModelConfig config, KvRequest request) {
    this.config = config;
    this.request = request;
    this.family = ModelFamily.of(config);
  }

  /**
   * The blocks that a model keeps.
   *
   * @throws KvModelException if the file cannot be read, or says something that is not known here
   */
  public static KvShape shape(Path file, KvRequest request) {
    return new KvModel(ModelConfig.read(file), request).boundedShape(file.toString());
  }

  static KvShape shape(String source, String json, KvRequest request) {
    return new KvModel(ModelConfig.parse(source, json), request).boundedShape(source);
  }

  private KvShape boundedShape(String source) {
    try {
      KvShape shape = shape();
      if (shape.bytes() < 1) {
        throw new KvModelException(source + " describes a cache without bytes; look at its numbers");
      }
      return shape;
    } catch (ArithmeticException e) {
      throw new KvModelException(
          source + " describes a cache of more than 2^63 bytes; look at its numbers, --tokens and --kv-block-tokens",
          e);
    }
  }

  private KvShape shape() {
    for (String field : UNKNOWN_FIELDS) {
      if (config.says(field)) {
        throw config.refuse(field, " changes the cache in a way that is not known here");
      }
    }
    int elementBytes = elementBytes();
    List<KvGroup> groups = family == ModelFamily.LATENT ? latent(elementBytes) : heads(elementBytes);
    return new KvShape(config.string("model_type"), request.tokens(), request.blockTokens(), groups);
  }

  private List<KvGroup> latent(int elementBytes) {
    long tokenBytes = elementBytes * ((long) config.positive("kv_lora_rank") + config.positive("qk_rope_head_dim"));
    return List.of(new KvGroup("latent", config.positive("num_hidden_layers"), blocks(UNLIMITED), 1,
        Math.multiplyExact(tokenBytes, request.blockTokens())));
  }

  private List<KvGroup> heads(int elementBytes) {
    long halfToken = Math.multiplyExact((long) elementBytes * headsPerRank(), (long) headDimension());
    boolean split = request.layout() == KvLayout.SPLIT;
    long blockBytes = Math.multiplyExact(Math.multiplyExact(halfToken, split ? 1 : 2), request.blockTokens());
    Map<Integer, Integer> layersByWindow = new LinkedHashMap<>();
    for (int window : windows()) {
      layersByWindow.merge(window, 1, Integer::sum);
    }
    List<KvGroup> groups = new ArrayList<>();
    layersByWindow.forEach((window, layers) -> groups.add(new KvGroup(
        window == UNLIMITED ? "full" : "sliding " + window, layers, blocks(window), split ? 2 : 1, blockBytes)));
    return groups;
  }

  /** Blocks that hold the tokens which the next token still sees. */
  private int blocks(int window) {
    int end = Math.ceilDiv(request.tokens(), request.blockTokens());
    return window == UNLIMITED ? end : end - Math.max(0, request.tokens() - window + 1) / request.blockTokens();
  }

  private int headsPerRank() {
    int all = config.optionalPositive("num_key_value_heads").orElseGet(this::headsWithoutGroups);
    int ranks = request.tensorParallel();
    if (all % ranks != 0 && ranks % all != 0) {
      throw config.refuse("num_key_value_heads", " is " + all + ", which --kv-tp " + ranks
          + " neither divides nor multiplies");
    }
    return Math.max(1, all / ranks);
  }

  /** Only where the family has no default of its own for the field. */
  private int headsWithoutGroups() {
    if (family != ModelFamily.FULL) {
      throw config.refuse("num_key_value_heads", " is missing");
    }
    return config.positive("num_attention_heads");
  }

  private int headDimension() {
    OptionalInt explicit = config.optionalPositive("head_dim");
    if (explicit.isPresent()) {
      return explicit.getAsInt();
    }
    if (family == ModelFamily.GEMMA3 || family == ModelFamily.ALTERNATING) {
      // Their heads are not hidden_size / num_attention_heads wide.
      throw config.refuse("head_dim", " is missing");
    }
    int hidden = config.positive("hidden_size");
    int heads = config.positive("num_attention_heads");
    if (hidden % heads != 0) {
      throw config.refuse("hidden_size", " is " + hidden + ", not a multiple of num_attention_heads " + heads);
    }
    return hidden / heads;
  }

  /** For each layer its window, or {@link #UNLIMITED}. */
  private int[] windows() {
    int layers = config.positive("num_hidden_layers");
    if (layers > MAX_LAYERS) {
      throw config.refuse("num_hidden_layers", " is " + layers + ", more than any model has");
    }
    int[] windows = new int[layers];
    List<String> types = config.strings("layer_types");
    for (int layer = 0; layer < windows.length; layer++) {
      if (types == null ? hasWindow(layer) : isSliding(types, layer, windows.length)) {
        windows[layer] = window(types != null);
      } else {
        windows[layer] = UNLIMITED;
      }
    }
    return windows;
  }

  private boolean isSliding(List<String> types, int layer, int layers) {
    if (types.size() != layers) {
      throw config.refuse("layer_types", " has " + types.size() + " entries for " + layers + " layers");
    }
    return switch (types.get(layer)) {
      case "full_attention" -> false;
      case "sliding_attention" -> true;
      default -> throw config.refuse("layer_types[" + layer + "]", " is '" + types.get(layer)
          + "', which is not known; known are full_attention and sliding_attention");
    };
  }

  private boolean hasWindow(int layer) {
    if (family.windows() != ModelFamily.Windows.FROM_LAYER && !config.says("sliding_window")) {
      return false;
    }
    return switch (family.windows()) {
      case NONE -> throw config.refuse("sliding_window", " is not known for this model_type");
      case ALL -> true;
      case FROM_LAYER -> config.flag("use_sliding_window") && layer >= config.positive("max_window_layers");
      case ODD -> layer % 2 == 0;
      case PATTERN -> (layer + 1) % pattern() != 0;
    };
  }

  private int pattern() {
    return config.optionalPositive("sliding_window_pattern").orElse(GEMMA3_PATTERN);
  }

  private int window(boolean named) {
    if (named && !config.says("sliding_window")) {
      throw config.refuse("sliding_window", " is missing, but layer_types names sliding layers");
    }
    return config.positive("sliding_window");
  }

  private int elementBytes() {
    String dtype = request.dtype();
    if (dtype == null && config.quantizedCache()) {
      throw config.refuse("quantization_config.kv_cache_scheme",
          " gives the cache its own type; say which with --kv-dtype, as fp8");
    }
    String field = "--kv-dtype";
    if (dtype == null) {
      field = "dtype";
      dtype = config.stringAnywhere(field);
    }
    if (dtype == null) {
      field = "torch_dtype";
      dtype = config.stringAnywhere(field);
    }
    if (dtype == null) {
      throw config.refuse(field, " is missing; say it with --kv-dtype, as bfloat16");
    }
    Integer bytes = bytesOf(dtype.toLowerCase(Locale.ROOT));
    if (bytes == null) {
      String message = " is '" + dtype + "'; known are bfloat16, float16, float32, fp8";
      throw field.startsWith("--") ? new KvModelException(field + message) : config.refuse(field, message);
    }
    return bytes;
  }

  private static @Nullable Integer bytesOf(String dtype) {
    return switch (dtype) {
      case "bfloat16", "bf16", "float16", "fp16", "half" -> 2;
      case "float32", "fp32", "float" -> 4;
      case "fp8", "fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2", "int8" -> 1;
      default -> null;
    };
  }
}
