/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.perf.bench.NodeProcess;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The real command line, with a target in a process of its own, in short form. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class BenchIT {
  private static final List<String> SHORT = List.of("--iterations", "20", "--warmup", "0s", "--depth", "2");

  @TempDir
  private Path folder;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int hawser(String... arguments) {
    return Hawser.run(new PrintWriter(out), new PrintWriter(err), arguments);
  }

  private int bench(String... arguments) {
    List<String> all = new ArrayList<>(List.of("bench"));
    all.addAll(SHORT);
    all.addAll(List.of(arguments));
    return hawser(all.toArray(String[]::new));
  }

  @Test
  void everyTransportMovesVerifiedBytesInBothDirections() throws Exception {
    Path json = folder.resolve("bench.json");
    Path plot = folder.resolve("bench.svg");

    int code = bench("--sizes", "1,4K,1M", "--json", json.toString(), "--plot", plot.toString());

    assertThat(err.toString()).doesNotContain("error");
    assertThat(code).isZero();
    JsonNode rows = new ObjectMapper().readTree(json.toFile()).get("rows");
    assertThat(rows.findValuesAsText("transport")).contains("shm");
    assertThat(rows).allSatisfy(row -> {
      assertThat(row.get("errors").asInt()).isZero();
      assertThat(row.get("verified").asText()).isEqualTo("full");
      assertThat(row.get("requests").asLong()).isGreaterThanOrEqualTo(20);
      assertThat(row.get("seconds").asDouble()).isPositive();
      assertThat(row.at("/latency_us/p50").asDouble()).isPositive();
      assertThat(row.at("/latency_us/max").asDouble()).isGreaterThanOrEqualTo(row.at("/latency_us/p50").asDouble());
      assertThat(row.get("rails")).isNotEmpty();
    });
    for (String op : List.of("write", "read")) {
      assertThat(rows).filteredOn(row -> row.get("op").asText().equals(op)).isNotEmpty();
    }
    assertThat(rows).filteredOn(row -> row.get("request_bytes").asLong() == 1 << 20)
        .allSatisfy(row -> assertThat(row.at("/rails/0/bytes").asLong()).isGreaterThanOrEqualTo(20L << 20));
    assertThat(out.toString().lines().count()).isEqualTo(rows.size() + 2);
    assertThat(Files.readString(plot)).startsWith("<svg").contains("shm write", "shm read");
  }

  @Test
  void scatteredBlocksThreadsAndBothWays() {
    assertThat(bench("--sizes", "64K", "--block-bytes", "4K", "--threads", "2", "--bidirectional")).isZero();
    assertThat(out.toString()).contains("16 x 4K").contains("2x2").contains("write<>").contains("read<>");
    assertThat(err.toString()).doesNotContain("error");
  }

  @Test
  void memoryThatCannotBeMapped() {
    assertThat(bench("--sizes", "64K", "--initiator-memory", "malloc", "--target-memory", "malloc")).isZero();
    assertThat(err.toString()).doesNotContain("error");
  }

  @Test
  void aModelsCacheIsMoved() throws Exception {
    Path config = Files.writeString(folder.resolve("config.json"), """
        {"model_type": "gpt_oss", "hidden_size": 64, "head_dim": 16, "num_hidden_layers": 4, "num_attention_heads": 4,
         "num_key_value_heads": 2, "sliding_window": 32, "torch_dtype": "bfloat16"}
        """);

    assertThat(bench("--kv-model", config.toString(), "--tokens", "100", "--op", "read")).isZero();
    // Of seven blocks the layers with a window keep three: two layers of each kind.
    assertThat(out.toString()).contains("20 x 2K");
  }

  @ParameterizedTest
  @ValueSource(strings = {"flip", "swap", "stale", "lose"})
  void plantedDamageIsCaught(String plant) {
    assertThat(bench("--sizes", "64K", "--plant", plant)).isEqualTo(1);
    assertThat(out.toString()).contains("WRONG");
    assertThat(err.toString()).contains("wrong bytes after a write").contains("wrong bytes after a read")
        .contains("byte ");
    assertThat(err.toString().lines().filter(line -> line.contains("error")))
        .allMatch(line -> line.startsWith("hawser"));
  }

  @Test
  void damageIsNotCaughtWhereNobodyLooks() {
    // What this shows is that the check is what catches it.
    assertThat(bench("--sizes", "64K", "--plant", "flip", "--verify", "none")).isZero();
  }

  @Test
  void tooSlowIsAFailure() {
    assertThat(bench("--sizes", "4K", "--op", "write", "--min-gbits", "1000000")).isEqualTo(1);
    assertThat(err.toString()).contains("less than --min-gbits 1000000");
  }

  @Test
  void aTransportThatIsNotHereIsNamed() {
    assertThat(bench("--sizes", "4K", "--transport", "pigeon")).isEqualTo(2);
    assertThat(err.toString().lines()).singleElement().asString().contains("error: --transport pigeon")
        .contains("there are [");
  }

  @Test
  void aRailThatIsNotHereIsNamed() {
    assertThat(bench("--sizes", "4K", "--rails", "nosuch")).isEqualTo(2);
    assertThat(err.toString().lines()).singleElement().asString().contains("error: --rails nosuch")
        .contains("there are [");
  }

  /** Each transport is measured by an agent of its own, which knows no other's rails. */
  @Test
  void aRailOfOneTransportLeavesTheOthersOut() {
    assertThat(bench("--sizes", "4K", "--op", "write", "--rails", "tcp:127.0.0.1")).isZero();
    assertThat(out.toString()).contains("tcp").doesNotContain("shm");
    assertThat(err.toString()).contains("shm is left out: none of --rails is a rail of it");
  }

  @Test
  void twoProcessesMeetAtAServiceTheyAreTold() {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        NodeProcess _ = NodeProcess.start("far", Hawser.class.getName(), List.of("bench", "--role", "target",
            "--metadata", service.uri().toString(), "--name", "far", "--until-stdin-ends"))) {
      int code = bench("--role", "initiator", "--metadata", service.uri().toString(), "--peer", "far", "--sizes", "4K");

      assertThat(err.toString()).doesNotContain("error");
      assertThat(code).isZero();
    }
  }

  @Test
  void aTargetThatIsNotThereIsNamed() {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      assertThat(bench("--role", "initiator", "--metadata", service.uri().toString(), "--peer", "nobody", "--wait",
          "200ms")).isEqualTo(1);
    }
    assertThat(err.toString().lines()).anySatisfy(line -> assertThat(line).contains("error").contains("'nobody'"));
  }

  @Test
  void aTargetThatIsKilledIsReported() throws Exception {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        NodeProcess target = NodeProcess.start("doomed", Hawser.class.getName(), List.of("bench", "--role", "target",
            "--metadata", service.uri().toString(), "--name", "doomed", "--until-stdin-ends"))) {
      Thread killer = Thread.ofVirtual().start(() -> {
        while (!out.toString().contains("4K")) {
          Thread.onSpinWait();
        }
        ProcessHandle.of(target.pid()).orElseThrow().destroyForcibly();
      });
      int code = hawser("bench", "--role", "initiator", "--metadata", service.uri().toString(), "--peer", "doomed",
          "--sizes", "4K,8K,16K", "--warmup", "0s", "--duration", "1s");
      killer.join();

      assertThat(code).isEqualTo(1);
      assertThat(err.toString()).contains("'doomed' is gone");
    }
  }

  /** Its cell holds the error, the table goes on. */
  @Test
  void aPeerThatHangsIsGivenUp() throws Exception {
    Path hanging = Files.writeString(folder.resolve("iperf3"), "#!/bin/sh\nexec /bin/sleep 600\n");
    assertThat(hanging.toFile().setExecutable(true)).isTrue();
    Path json = folder.resolve("compare.json");
    ProcessBuilder builder =
        new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
            Hawser.class.getName(), "bench", "--compare", "--pairs", "2", "--transport", "tcp", "--op", "write,read",
            "--sizes", "64K", "--warmup", "0s", "--duration", "100ms", "--json", json.toString())
            .redirectErrorStream(true);
    builder.environment().put("PATH", folder.toString()); // no other peer is found there
    Process process = builder.start();
    String said;
    try {
      said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly();
    }

    assertThat(process.exitValue()).as(said).isEqualTo(1);
    assertThat(said).contains("peer iperf3, tcp write 64K: iperf3 has not ended after 30 s",
        "peer iperf3, tcp read 64K: iperf3 has not ended after 30 s");
    assertThat(new ObjectMapper().readTree(json.toFile()).get("rows").findValuesAsText("op"))
        .containsExactlyInAnyOrder("write", "read");
  }

  @Test
  void aMeshMeasuresEachPair() throws Exception {
    Path json = folder.resolve("mesh.json");

    int code =
        hawser("bench", "mesh", "--count", "3", "--size", "64K", "--duration", "50ms", "--warmup", "10ms", "--json",
            json.toString());

    assertThat(err.toString()).doesNotContain("error");
    assertThat(code).isZero();
    JsonNode root = new ObjectMapper().readTree(json.toFile());
    assertThat(root.get("pairs")).hasSize(6)
        .allSatisfy(pair -> assertThat(pair.get("gbytes_per_s").asDouble()).isPositive());
    assertThat(root.get("incast")).hasSize(6);
    assertThat(root.get("all")).hasSize(6);
    assertThat(out.toString()).contains("node-0", "node-2", "into node-1:", "every pair at once");
  }
}
