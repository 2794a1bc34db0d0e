/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BenchReportTest {
  static final BenchRow ROW = new BenchRow("tcp", Op.WRITE, false, "host", "host", 1 << 20, 65536, 16, 1, 2, 1000, 0.5,
      new Latencies(400, 450, 600, 900, 1200), new Latencies(3, 4, 5, 6, 7), 0.25,
      List.of(new RailUse("tcp:lo", 1048576000, Map.of("resets", 0L, "chunks", 4000L))), Verify.FULL, 0);
  static final PeerRow PEER = new PeerRow("iperf3", "tcp", "write", 1 << 20, 1 << 20, 10, "gbytes_per_s",
      new Spread(2, 1.9, 2.1), new Spread(2.2, 2.1, 2.3), new Spread(1.1, 1.05, 1.15));

  private static JsonNode json(BenchRow row) throws Exception {
    return new ObjectMapper().readTree(new BenchReport("1.2.3", new HostFacts("a", "Linux 6.1", "cpu", 2, 1 << 30,
        "25"), List.of(row), List.of(PEER)).toJson());
  }

  private static List<String> names(JsonNode node) {
    List<String> names = new ArrayList<>();
    node.fieldNames().forEachRemaining(names::add);
    return names;
  }

  @Test
  void hasTheFieldsThatOthersRead() throws Exception {
    JsonNode root = json(ROW);

    assertThat(names(root)).containsExactly("tool", "version", "host", "rows", "peers");
    assertThat(names(root.at("/rows/0"))).containsExactly("transport", "op", "initiator_memory", "target_memory",
        "request_bytes", "block_bytes", "batch", "threads", "depth", "requests", "seconds", "gbytes_per_s",
        "gbits_per_s", "latency_us", "post_us", "cpu_seconds_per_gib", "rails", "verified", "errors");
    assertThat(names(root.at("/rows/0/latency_us"))).containsExactly("p50", "p90", "p99", "p999", "max");
    assertThat(names(root.at("/rows/0/post_us"))).containsExactly("p50", "p99");
    assertThat(names(root.at("/rows/0/rails/0"))).containsExactly("name", "bytes", "counters");
    assertThat(names(root.at("/peers/0"))).contains("name", "request_bytes", "gbytes_per_s", "ratio");
  }

  @Test
  void hasTheFigures() throws Exception {
    JsonNode row = json(ROW).at("/rows/0");

    assertThat(json(ROW).get("tool").asText()).isEqualTo("bench");
    assertThat(json(ROW).get("version").asText()).isEqualTo("1.2.3");
    assertThat(row.get("op").asText()).isEqualTo("write");
    assertThat(row.get("request_bytes").asLong())
        .isEqualTo(row.get("block_bytes").asLong() * row.get("batch").asLong());
    assertThat(row.get("gbytes_per_s").asDouble()).isEqualTo(1000 * 1048576.0 / 0.5 / 1e9);
    assertThat(row.get("gbits_per_s").asDouble()).isEqualTo(8 * row.get("gbytes_per_s").asDouble());
    assertThat(row.at("/latency_us/p999").asDouble()).isEqualTo(900);
    assertThat(row.at("/rails/0/counters/chunks").asLong()).isEqualTo(4000);
    assertThat(row.get("verified").asText()).isEqualTo("full");
    assertThat(json(ROW).at("/peers/0/gbytes_per_s").asDouble()).isEqualTo(2);
  }

  @Test
  void aLineHoldsWhatPeopleLookFor() {
    String line = BenchTable.line(ROW);

    assertThat(line).contains("tcp", "write", "1M", "16 x 64K", "2.10", "16.8", "400", "600", "full");
    assertThat(BenchTable.heading().lines().findFirst().orElseThrow()).contains("GB/s", "Gb/s", "p99 us", "post us");
    assertThat(BenchTable.line(PEER)).contains("iperf3", "ratio 1.10 [1.05..1.15]", "10 pairs");
  }

  @Test
  void wrongBytesAreShouted() {
    BenchRow wrong = new BenchRow("tcp", Op.READ, true, "host", "host", 8, 8, 1, 2, 1, 0, 0, ROW.latency(), ROW.post(),
        0, List.of(), Verify.FULL, 1);

    assertThat(BenchTable.line(wrong)).contains("WRONG").contains("read<>").contains("2x1");
    assertThat(wrong.gbytesPerSecond()).isZero();
  }

  @Test
  void figuresHaveThreeDigits() {
    assertThat(List.of(BenchTable.figure(12345.6), BenchTable.figure(99.94), BenchTable.figure(1.234),
        BenchTable.figure(0.01234), BenchTable.figure(0.00026), BenchTable.figure(0)))
        .containsExactly("12346", "99.9", "1.23", "0.0123", "0.000260", "0.00");
  }

  @Test
  void theHostIsDescribed() {
    HostFacts here = HostFacts.here();

    assertThat(here.name()).isNotBlank();
    assertThat(here.os()).contains("Linux");
    assertThat(here.cpu()).isNotBlank();
    assertThat(here.cores()).isPositive();
    assertThat(here.memoryBytes()).isPositive();
    assertThat(here.jdk()).contains("25");
  }
}
