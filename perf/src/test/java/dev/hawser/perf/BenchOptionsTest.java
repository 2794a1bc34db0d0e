/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.perf.bench.BenchPlan;
import dev.hawser.perf.bench.MemoryKind;
import dev.hawser.perf.bench.Op;
import dev.hawser.perf.bench.RequestShape;
import dev.hawser.perf.bench.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** From words to a plan, and what is refused on the way. */
class BenchOptionsTest {

  private static BenchPlan plan(String... arguments) {
    BenchOptions options = new BenchOptions();
    new CommandLine(options).registerConverter(Duration.class, new DurationConverter())
        .setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
    return options.plan("4K:64M:x4");
  }

  @Test
  void byDefaultEverythingThatWorksInTheUsualSizes() {
    BenchPlan plan = plan();

    assertThat(plan.transports()).isEmpty();
    assertThat(plan.ops()).containsExactly(Op.WRITE, Op.READ);
    assertThat(plan.shapes()).hasSize(8).startsWith(new RequestShape(4096, 1)).endsWith(new RequestShape(64 << 20, 1));
    assertThat(plan.verify()).isEqualTo(Verify.FULL);
    assertThat(plan.threads()).isEqualTo(1);
    assertThat(plan.timing().duration()).isEqualTo(Duration.ofMillis(500));
    assertThat(plan.timing().iterations()).isZero();
    assertThat(plan.initiatorMemory()).isEqualTo(MemoryKind.HOST);
  }

  @Test
  void wordsBecomeAPlan() {
    BenchPlan plan = plan("--transport", "tcp,shm", "--op", "read", "--sizes", "8,1M", "--threads", "2", "--depth", "3",
        "--verify", "none", "--iterations", "100", "--rate", "1000", "--target-memory", "malloc", "--bidirectional");

    assertThat(plan.transports()).containsExactly("tcp", "shm");
    assertThat(plan.ops()).containsExactly(Op.READ);
    assertThat(plan.shapes()).containsExactly(new RequestShape(8, 1), new RequestShape(1 << 20, 1));
    assertThat(plan.threads()).isEqualTo(2);
    assertThat(plan.depth()).isEqualTo(3);
    assertThat(plan.verify()).isEqualTo(Verify.NONE);
    assertThat(plan.timing().iterations()).isEqualTo(100);
    assertThat(plan.requestsPerSecond()).isEqualTo(1000);
    assertThat(plan.targetMemory()).isEqualTo(MemoryKind.MALLOC);
    assertThat(plan.bidirectional()).isTrue();
  }

  @Test
  void aRequestIsBlocks() {
    assertThat(plan("--sizes", "1M", "--block-bytes", "4K").shapes()).containsExactly(new RequestShape(4096, 256));
    assertThat(plan("--sizes", "1M", "--batch", "16").shapes()).containsExactly(new RequestShape(65536, 16));
    assertThat(plan("--block-bytes", "4K", "--batch", "4096").shapes()).containsExactly(new RequestShape(4096, 4096));
  }

  @Test
  void aModelGivesTheBlocks(@TempDir Path folder) throws Exception {
    Path config = Files.writeString(folder.resolve("config.json"), """
        {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "torch_dtype": "bfloat16"}
        """);

    assertThat(plan("--kv-model", config.toString(), "--tokens", "16,4096").shapes())
        .containsExactly(new RequestShape(65536, 32), new RequestShape(65536, 8192));
    assertThat(plan("--kv-model", config.toString(), "--tokens", "16", "--kv-layout", "split", "--kv-tp", "8").shapes())
        .containsExactly(new RequestShape(4096, 64));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "--sizes banana | --sizes: 'banana' is not a size",
      "--sizes 1M --batch 3 | 1M cannot be cut into --batch 3",
      "--sizes 5000 --block-bytes 4K | 5000 is no whole number of blocks of 4K",
      "--sizes 1M --block-bytes 4K --batch 4 | leave --sizes out",
      "--block-bytes 4K,8K | several sizes",
      "--duration 1s --iterations 5 | give one",
      "--iterations 0 | --iterations is 0",
      "--duration 0s | a time of 0",
      "--threads 0 | --threads is 0",
      "--depth -1 | --depth is -1",
      "--batch 0 | --batch is 0",
      "--rate -5 | --rate is -5.0",
      "--transport auto,tcp | name it alone",
      "--tokens 5 | --tokens needs --kv-model",
      "--initiator-memory cuda:0 | --initiator-memory: 'cuda:0' is no memory that this build can measure",
      "--kv-model none.json | --kv-model: cannot read none.json",
      "--kv-model none.json --sizes 1M | leave --sizes",
  })
  void whatDoesNotGoTogetherIsRefused(String line, String message) {
    assertThatThrownBy(() -> plan(line.split(" "))).isInstanceOf(UsageException.class).hasMessageContaining(message);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "bench --sizes banana | 'banana'",
      "bench --verify maybe | --verify",
      "bench --op sideways | --op",
      "bench --duration soon | 'soon' is not a time",
      "bench --role target | --role needs --metadata URL",
      "bench --metadata http://127.0.0.1:1 | --metadata needs --role",
      "bench --json /nowhere/at/all.json | --json /nowhere/at/all.json cannot be written",
      "bench --transprot tcp | --transport",
      "bench mesh --nodes a | --nodes and --metadata belong together",
      "bench mesh --nodes a,a --metadata http://127.0.0.1:1 | two or more different names",
      "bench mesh --size banana | 'banana'",
      "metadata --max-blob banana | 'banana'",
      "metadata --listen 127.0.0.1:99999 | port is 99999"})
  void wrongWordsEndWithTwoAndOneLine(String line, String message) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();

    int code = Hawser.run(new PrintWriter(out), new PrintWriter(err), line.split(" "));

    assertThat(err.toString().lines()).singleElement().asString().startsWith("hawser ").contains("error: ")
        .contains(message);
    assertThat(code).isEqualTo(2);
    assertThat(out.toString()).isEmpty();
  }
}
