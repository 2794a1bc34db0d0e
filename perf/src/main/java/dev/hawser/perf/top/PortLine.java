/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the operating system counted at the port of a rail until one moment, as an agent wrote it.
 *
 * @param atMillis milliseconds since 1970
 * @param agent who wrote it
 * @param rail the transport and the rail
 * @param port the interface, or the RDMA device and its port
 * @param counters by the driver's names
 */
record PortLine(long atMillis, String agent, String rail, String port, Map<String, Long> counters) {

  PortLine {
    counters = Map.copyOf(counters);
  }

  static PortLine of(JsonNode node) {
    Map<String, Long> counters = new TreeMap<>();
    node.path("counters").properties().forEach(each -> counters.put(each.getKey(), each.getValue().asLong()));
    return new PortLine(node.path("at").asLong(), node.path("agent").asText(), node.path("rail").asText(),
        node.path("port").asText(), counters);
  }
}
