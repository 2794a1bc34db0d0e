/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One path at one moment, as an agent wrote it.
 *
 * @param atMillis milliseconds since 1970
 * @param agent who wrote it
 * @param peer where the path leads
 * @param rail the transport and the rail
 * @param path its number
 * @param up whether it could be used
 * @param bytes acknowledged until then
 * @param inFlight bytes under way
 * @param retransmitted segments that TCP has sent again; 0 where there is none
 * @param roundTripMicros to the peer's kernel and back, by TCP; 0 where there is none
 * @param meanMicros mean latency of the last eight completions
 * @param maxMicros the longest of them
 * @param anomalies what was wrong
 * @param fault why it failed the last time
 */
record FlowLine(long atMillis, String agent, String peer, String rail, int path, boolean up, long bytes, long inFlight,
    long retransmitted, long roundTripMicros, long meanMicros, long maxMicros, List<String> anomalies, String fault) {
  private static final ObjectMapper JSON = new ObjectMapper();

  FlowLine {
    anomalies = List.copyOf(anomalies);
  }

  /** Empty for what is no line of an agent: the last one may be written just now. */
  static Optional<JsonNode> read(String line) {
    try {
      JsonNode node = JSON.readTree(line);
      return node.has("at") && (node.has("path") || node.has("port")) ? Optional.of(node) : Optional.empty();
    } catch (JsonProcessingException e) {
      return Optional.empty();
    }
  }

  static FlowLine of(JsonNode node) {
    List<String> anomalies = new ArrayList<>();
    node.path("anomalies").forEach(each -> anomalies.add(each.asText()));
    JsonNode eight = node.path("last_8");
    JsonNode network = node.path("network");
    return new FlowLine(node.path("at").asLong(), node.path("agent").asText(), node.path("peer").asText(),
        node.path("rail").asText(), node.path("path").asInt(), node.path("up").asBoolean(),
        node.path("bytes").asLong(), node.path("in_flight").asLong(), network.path("retransmitted").asLong(),
        network.path("round_trip_us").asLong(), eight.path("mean_us").asLong(),
        eight.path("max_us").asLong(), anomalies, node.path("fault").asText());
  }
}
