/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Device;
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
    options.paths();
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
        "--verify", "none", "--iterations", "100", "--rate", "1000", "--target-memory", "malloc", "--bidirectional",
        "--initiator-memory", "cuda:1", "--window", "1M");

    assertThat(plan.transports()).containsExactly("tcp", "shm");
    assertThat(plan.ops()).containsExactly(Op.READ);
    assertThat(plan.windowBytes()).isEqualTo(1 << 20);
    assertThat(plan.shapes()).containsExactly(new RequestShape(8, 1), new RequestShape(1 << 20, 1));
    assertThat(plan.threads()).isEqualTo(2);
    assertThat(plan.depth()).isEqualTo(3);
    assertThat(plan.verify()).isEqualTo(Verify.NONE);
    assertThat(plan.timing().iterations()).isEqualTo(100);
    assertThat(plan.requestsPerSecond()).isEqualTo(1000);
    assertThat(plan.targetMemory()).isEqualTo(MemoryKind.MALLOC);
    assertThat(plan.initiatorMemory()).isEqualTo(MemoryKind.parse("cuda:1"));
    assertThat(plan.initiatorMemory().device()).isEqualTo(Device.cuda(1));
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
      "--sizes 99999999999999999999 | --sizes: '99999999999999999999' is more than 2^63 bytes",
      "--sizes 1M --batch 3 | 1M cannot be cut into --batch 3",
      "--sizes 5000 --block-bytes 4K | 5000 is no whole number of blocks of 4K",
      "--sizes 1M --block-bytes 4K --batch 4 | leave --sizes out",
      "--block-bytes 4K,8K | several sizes",
      "--duration 1s --iterations 5 | give one",
      "--iterations 0 | --iterations is 0",
      "--duration 0s | --duration is a time of 0",
      "--threads 0 | --threads is 0",
      "--depth -1 | --depth is -1",
      "--batch 0 | --batch is 0",
      "--rate -5 | --rate is -5.0",
      "--rate 0 | --rate is 0.0; give requests per second",
      "--rate NaN | --rate is NaN",
      "--rate 1e300 | --rate is 1.0E300",
      "--rate 0.01 --sizes 8 --depth 4 | --rate 0.01 takes longer than 60 s for the 4 requests",
      "--depth 0 | --depth is 0; give 1 to 65536",
      "--depth 5000000 --sizes 1 | --depth is 5000000; give 1 to 65536",
      "--window 1T | --window 1T is more memory than a row can use; give 64G at most",
      "--threads 100000 | --threads is 100000; give 1 to 1024",
      "--threads 1024 --depth 1024 | are 1048576 requests under way; lower one",
      "--batch 2147483647 | --batch is 2147483647; give 1 to 4194304",
      "--sizes 16G --block-bytes 1K | has more than 4194304 blocks",
      "--batch 4194304 --block-bytes 1 --depth 8 | 33554432 blocks under way",
      "--batch 4194304 --block-bytes 4T | more than 2^63 bytes",
      "--sizes 4096T | need more memory than",
      "--paths 0 | --paths is 0; give 1 to 256",
      "--paths 257 | --paths is 257",
      "--timeout 999999999h | --timeout is out of its limits",
      "--timeout 99999999999999999999s | --timeout is out of its limits; give 1us to 24h",
      "--warmup 25h | --warmup is out of its limits",
      "--timeout 0s | --timeout is a time of 0",
      "--transport auto,tcp | name it alone",
      "--tokens 5 | --tokens needs --kv-model",
      "--initiator-memory gpu:0 | --initiator-memory: 'gpu:0' is no memory that this build can measure",
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
      "bench --min-gbits NaN | --min-gbits is NaN",
      "bench --min-gbits Infinity | --min-gbits is Infinity",
      "bench --min-gbits -1 | --min-gbits is -1.0",
      "bench --min-gbits 0 | --min-gbits is 0.0",
      "bench --json /proc/x.json | --json /proc/x.json cannot be written",
      "bench --plot /proc/x.svg | --plot /proc/x.svg cannot be written",
      "bench --json /tmp | --json /tmp cannot be written: it is a folder",
      "bench --plot /nowhere/x.svg | --plot /nowhere/x.svg cannot be written",
      "bench --kv-model /dev/zero | --kv-model: /dev/zero is larger than 4 MiB",
      "bench --kv-model /tmp | --kv-model: /tmp is a folder",
      "bench --pairs 0 | --pairs is 0",
      "bench --role initiator --metadata banana | metadata: 'banana' is wrong",
      "bench --role target --metadata ftp://127.0.0.1 | metadata: 'ftp://127.0.0.1' is wrong",
      "bench --role target --metadata http://127.0.0.1:1 --listen nowhere | listen: 'nowhere'",
      "bench mesh --count 1 | --count is 1",
      "bench mesh --count 5000 | --count is 5000",
      "bench mesh --threads 100000 | --threads is 100000",
      "bench mesh --depth 0 | --depth is 0",
      "bench mesh --duration 0s | --duration is a time of 0",
      "bench mesh --json /proc/x.json | --json /proc/x.json cannot be written",
      "bench mesh --size 4096T | need more memory than",
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
