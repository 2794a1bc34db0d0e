/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Shapes worked out by hand from configurations that look like the published ones. */
class KvModelTest {
  private static final String LLAMA = """
      {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
       "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
       "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "torch_dtype": "bfloat16", "vocab_size": 128256}
      """;
  private static final String QWEN = """
      {"model_type": "qwen3", "hidden_size": 4096, "head_dim": 128, "num_hidden_layers": 36, "num_attention_heads": 32,
       "num_key_value_heads": 8, "max_window_layers": 36, "sliding_window": null, "use_sliding_window": false,
       "torch_dtype": "bfloat16"}
      """;
  private static final String DEEPSEEK = """
      {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
       "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
       "v_head_dim": 128, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
       "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
      """;
  private static final String GEMMA = """
      {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16",
       "text_config": {"model_type": "gemma3_text", "hidden_size": 3840, "head_dim": 256, "num_hidden_layers": 48,
                       "num_attention_heads": 16, "num_key_value_heads": 8, "sliding_window": 1024,
                       "sliding_window_pattern": 6},
       "vision_config": {"model_type": "siglip_vision_model", "num_hidden_layers": 27}}
      """;
  private static final String GPT_OSS = """
      {"model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64, "num_hidden_layers": 4, "num_attention_heads": 64,
       "num_key_value_heads": 8, "sliding_window": 128, "torch_dtype": "bfloat16",
       "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}
      """;
  private static final String MISTRAL = """
      {"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
       "num_key_value_heads": 8, "sliding_window": 4096, "dtype": "float16"}
      """;

  private static KvRequest tokens(int tokens) {
    return new KvRequest(tokens, KvRequest.DEFAULT_BLOCK_TOKENS, 1, KvLayout.PACKED, null);
  }

  private static KvShape shape(String json, KvRequest request) {
    return KvModel.shape("config.json", json, request);
  }

  @Test
  void llamaHasOneBlockPerLayerAndSixteenTokens() {
    KvShape shape = shape(LLAMA, tokens(4096));

    // 16 tokens x 8 heads x 128 x 2 bytes, keys and values.
    assertThat(shape.groups()).containsExactly(new KvGroup("full", 32, 256, 1, 65536));
    assertThat(shape.bytes()).isEqualTo(512L << 20);
    assertThat(shape.descriptors()).isEqualTo(8192);
  }

  @Test
  void aPartialBlockIsMovedWhole() {
    assertThat(shape(LLAMA, tokens(4097)).groups().getFirst().blocksPerLayer()).isEqualTo(257);
    assertThat(shape(LLAMA, tokens(1)).groups().getFirst().blocksPerLayer()).isEqualTo(1);
  }

  @Test
  void keysAndValuesApartAreTwiceAsManyHalves() {
    KvShape shape = shape(LLAMA, new KvRequest(4096, 16, 1, KvLayout.SPLIT, null));

    assertThat(shape.groups()).containsExactly(new KvGroup("full", 32, 256, 2, 32768));
    assertThat(shape.bytes()).isEqualTo(512L << 20);
  }

  @ParameterizedTest
  @CsvSource({"1, 65536", "2, 32768", "8, 8192", "16, 8192"})
  void ranksShareTheHeadsUntilEachHasOne(int ranks, long blockBytes) {
    KvShape shape = shape(LLAMA, new KvRequest(16, 16, ranks, KvLayout.PACKED, null));

    assertThat(shape.groups().getFirst().blockBytes()).isEqualTo(blockBytes);
  }

  @Test
  void qwenWithoutWindowsIsAllFull() {
    assertThat(shape(QWEN, tokens(32)).groups()).containsExactly(new KvGroup("full", 36, 2, 1, 65536));
  }

  @Test
  void qwenWithWindowsHasThemFromALayerOn() {
    String windowed = QWEN.replace("\"max_window_layers\": 36", "\"max_window_layers\": 30")
        .replace("\"sliding_window\": null", "\"sliding_window\": 64")
        .replace("\"use_sliding_window\": false", "\"use_sliding_window\": true");

    // Of 160 tokens the next one sees 97 to 159 and itself: blocks 6 to 9.
    assertThat(shape(windowed, tokens(160)).groups()).containsExactly(
        new KvGroup("full", 30, 10, 1, 65536), new KvGroup("sliding 64", 6, 4, 1, 65536));
  }

  @Test
  void deepSeekKeepsOneLatentVectorOnEachRank() {
    KvGroup latent = new KvGroup("latent", 61, 64, 1, 16L * 576 * 2);

    assertThat(shape(DEEPSEEK, tokens(1024)).groups()).containsExactly(latent);
    assertThat(shape(DEEPSEEK, new KvRequest(1024, 16, 8, KvLayout.SPLIT, null)).groups()).containsExactly(latent);
  }

  @Test
  void gemmaMixesWindowsWithEachSixthLayerFull() {
    KvShape shape = shape(GEMMA, tokens(8192));

    assertThat(shape.modelType()).isEqualTo("gemma3_text");
    // Positions 7169 to 8191 are seen: from block 448 of 512 on.
    assertThat(shape.groups()).containsExactly(
        new KvGroup("sliding 1024", 40, 64, 1, 131072), new KvGroup("full", 8, 512, 1, 131072));
  }

  @Test
  void gptOssFollowsItsLayerTypes() {
    assertThat(shape(GPT_OSS, tokens(1000)).groups()).containsExactly(
        new KvGroup("sliding 128", 2, 9, 1, 32768), new KvGroup("full", 2, 63, 1, 32768));
  }

  @Test
  void gptOssWithoutLayerTypesAlternates() {
    String plain = GPT_OSS.replaceAll(",\\s*\"layer_types\": \\[[^]]*]", "");

    assertThat(plain).doesNotContain("layer_types");
    assertThat(shape(plain, tokens(1000))).isEqualTo(shape(GPT_OSS, tokens(1000)));
  }

  @Test
  void mistralWindowsEveryLayerAndNullMeansNone() {
    assertThat(shape(MISTRAL, tokens(8192)).groups()).containsExactly(new KvGroup("sliding 4096", 32, 256, 1, 65536));
    assertThat(shape(MISTRAL.replace("4096, \"dtype\"", "null, \"dtype\""), tokens(8192)).groups())
        .containsExactly(new KvGroup("full", 32, 512, 1, 65536));
  }

  @Test
  void aShortCacheIsWhollyInsideItsWindow() {
    assertThat(shape(MISTRAL, tokens(100)).groups()).containsExactly(new KvGroup("sliding 4096", 32, 7, 1, 65536));
  }

  @Test
  void theElementTypeCanBeSaid() {
    assertThat(shape(LLAMA, new KvRequest(16, 16, 1, KvLayout.PACKED, "fp8")).bytes())
        .isEqualTo(shape(LLAMA, tokens(16)).bytes() / 2);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "\"model_type\": \"llama\"            | \"model_type\": \"mamba2\"                  | model_type is 'mamba2'",
      "\"model_type\": \"llama\",           |                                             | model_type is missing",
      "\"num_hidden_layers\": 32            | \"num_hidden_layers\": \"many\"             | num_hidden_layers is \"many\"",
      "\"num_hidden_layers\": 32            | \"num_hidden_layers\": 0                    | num_hidden_layers is 0",
      "\"num_hidden_layers\": 32,           |                                             | num_hidden_layers is missing",
      "\"hidden_size\": 4096                | \"hidden_size\": 4097                       | hidden_size is 4097",
      "\"torch_dtype\": \"bfloat16\"        | \"torch_dtype\": \"complex64\"              | torch_dtype is 'complex64'",
      ", \"torch_dtype\": \"bfloat16\"      |                                             | torch_dtype is missing",
      "\"vocab_size\": 128256               | \"attention_chunk_size\": 8192              | attention_chunk_size changes",
      "\"vocab_size\": 128256               | \"index_topk\": 2048                        | index_topk changes",
      "\"vocab_size\": 128256               | \"sliding_window\": 4096                    | sliding_window is not known",
      "\"vocab_size\": 128256 | \"layer_types\": [\"linear_attention\"], \"num_hidden_layers\": 1 | layer_types[0] is 'linear_attention'",
      "\"vocab_size\": 128256               | \"layer_types\": [\"full_attention\"]       | layer_types has 1 entries for 32 layers",
      "\"vocab_size\": 128256 | \"quantization_config\": {\"kv_cache_scheme\": {\"num_bits\": 8}} | quantization_config.kv_cache_scheme",
  })
  void whatIsNotKnownIsRefusedByItsName(String field, String replacement, String message) {
    String json = LLAMA.replace(field, replacement == null ? "" : replacement);

    assertThat(json).isNotEqualTo(LLAMA);
    assertThatThrownBy(() -> shape(json, tokens(16))).isInstanceOf(KvModelException.class)
        .hasMessageContaining("config.json: " + message).hasMessageNotContaining("\n");
  }

  @Test
  void aFieldOfTheTextModelIsNamedWithItsPath() {
    assertThatThrownBy(() -> shape(GEMMA.replace("\"head_dim\": 256,", ""), tokens(16)))
        .hasMessageContaining("text_config.head_dim is missing");
  }

  @Test
  void ranksThatCannotShareTheHeadsAreRefused() {
    assertThatThrownBy(() -> shape(LLAMA, new KvRequest(16, 16, 3, KvLayout.PACKED, null)))
        .hasMessageContaining("num_key_value_heads is 8").hasMessageContaining("--kv-tp 3");
  }

  @Test
  void theTokensMustBeCounted() {
    assertThatThrownBy(() -> tokens(0)).hasMessageContaining("--tokens is 0");
  }

  @Test
  void aFileIsRead(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("config.json"), LLAMA);

    assertThat(KvModel.shape(file, tokens(4096)).bytes()).isEqualTo(512L << 20);
  }

  @Test
  void aFileThatIsNoConfigurationIsRefused(@TempDir Path folder) throws Exception {
    Path missing = folder.resolve("none.json");
    Path garbage = Files.writeString(folder.resolve("garbage.json"), "{\"model_type\": ");
    Path list = Files.writeString(folder.resolve("list.json"), "[]");

    assertThatThrownBy(() -> KvModel.shape(missing, tokens(1))).isInstanceOf(KvModelException.class)
        .hasMessageContaining("cannot read").hasMessageContaining("none.json");
    assertThatThrownBy(() -> KvModel.shape(garbage, tokens(1))).hasMessageContaining("is not JSON");
    assertThatThrownBy(() -> KvModel.shape(list, tokens(1))).hasMessageContaining("is not a JSON object");
  }

  /** As {@code /dev/zero}: it has no size to ask for, and no end. */
  @Test
  void aFileThatIsTooLongIsNotRead(@TempDir Path folder) throws Exception {
    Path endless = Path.of("/dev/zero");
    Path longFile = Files.writeString(folder.resolve("long.json"), " ".repeat((4 << 20) + 1));

    assertThatThrownBy(() -> KvModel.shape(endless, tokens(1))).isInstanceOf(KvModelException.class)
        .hasMessageContaining("/dev/zero is larger than 4 MiB");
    assertThatThrownBy(() -> KvModel.shape(longFile, tokens(1))).hasMessageContaining("is larger than 4 MiB");
    assertThatThrownBy(() -> KvModel.shape(folder, tokens(1))).hasMessageContaining("is a folder");
  }

  @Test
  void numbersThatOverflowAreRefused() {
    String wide = LLAMA.replace("\"hidden_size\": 4096", "\"head_dim\": 2147483647, \"hidden_size\": 4096");

    assertThat(wide).isNotEqualTo(LLAMA);
    assertThatThrownBy(() -> shape(wide, new KvRequest(Integer.MAX_VALUE, Integer.MAX_VALUE, 1, KvLayout.PACKED, null)))
        .isInstanceOf(KvModelException.class).hasMessageContaining("more than 2^63 bytes");
  }
}
