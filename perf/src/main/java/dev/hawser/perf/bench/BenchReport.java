/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/**
 * Everything that a run found out.
 *
 * @param version ours
 * @param host where it ran
 * @param rows our measurements
 * @param peers other programs' beside them
 */
public record BenchReport(String version, HostFacts host, List<BenchRow> rows, List<PeerRow> peers) {
  private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  public BenchReport {
    rows = List.copyOf(rows);
    peers = List.copyOf(peers);
  }

  /** One JSON object, ended by a line feed. */
  public String toJson() {
    ObjectNode root = JSON.createObjectNode();
    root.put("tool", "bench").put("version", version);
    root.putObject("host").put("name", host.name()).put("os", host.os()).put("cpu", host.cpu())
        .put("cores", host.cores()).put("memory_bytes", host.memoryBytes()).put("jdk", host.jdk());
    ArrayNode rowNodes = root.putArray("rows");
    rows.forEach(row -> add(rowNodes.addObject(), row));
    ArrayNode peerNodes = root.putArray("peers");
    peers.forEach(peer -> add(peerNodes.addObject(), peer));
    try {
      return JSON.writeValueAsString(root) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a tree of plain values is always JSON", e);
    }
  }

  private static void add(ObjectNode node, BenchRow row) {
    node.put("transport", row.transport()).put("op", row.op().text());
    if (row.bidirectional()) {
      node.put("bidirectional", true);
    }
    node.put("initiator_memory", row.initiatorMemory()).put("target_memory", row.targetMemory())
        .put("request_bytes", row.requestBytes()).put("block_bytes", row.blockBytes()).put("batch", row.batch())
        .put("threads", row.threads()).put("depth", row.depth()).put("requests", row.requests())
        .put("seconds", row.seconds()).put("gbytes_per_s", row.gbytesPerSecond())
        .put("gbits_per_s", row.gbitsPerSecond());
    Latencies latency = row.latency();
    node.putObject("latency_us").put("p50", latency.p50()).put("p90", latency.p90()).put("p99", latency.p99())
        .put("p999", latency.p999()).put("max", latency.max());
    node.putObject("post_us").put("p50", row.post().p50()).put("p99", row.post().p99());
    node.put("cpu_seconds_per_gib", row.cpuSecondsPerGib());
    ArrayNode rails = node.putArray("rails");
    for (RailUse rail : row.rails()) {
      ObjectNode counters = rails.addObject().put("name", rail.name()).put("bytes", rail.bytes())
          .putObject("counters");
      rail.counters().entrySet().stream().sorted(java.util.Map.Entry.comparingByKey())
          .forEach(counter -> counters.put(counter.getKey(), counter.getValue()));
    }
    node.put("verified", row.verified().text()).put("errors", row.errors());
  }

  private static void add(ObjectNode node, PeerRow peer) {
    node.put("name", peer.name()).put("transport", peer.transport()).put("op", peer.op())
        .put("request_bytes", peer.requestBytes()).put("block_bytes", peer.blockBytes()).put("pairs", peer.pairs())
        .put(peer.metric(), peer.peer().median());
    node.putArray("spread").add(peer.peer().low()).add(peer.peer().high());
    node.put("ours_" + peer.metric(), peer.ours().median());
    node.putArray("ours_spread").add(peer.ours().low()).add(peer.ours().high());
    node.put("ratio", peer.ratio().median());
    node.putArray("ratio_spread").add(peer.ratio().low()).add(peer.ratio().high());
  }
}
