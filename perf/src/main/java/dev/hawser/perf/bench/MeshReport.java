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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What a mesh gave, and who is slow in it.
 *
 * @param nodes in order
 * @param transport that was used
 * @param op the direction
 * @param requestBytes bytes of one request
 * @param pairs each pair alone
 * @param incast for each target, all others at once
 * @param all every pair at once
 * @param failures pairs that failed, one line each
 */
public record MeshReport(List<String> nodes, String transport, Op op, long requestBytes, List<Flow> pairs,
    List<Flow> incast, List<Flow> all, List<String> failures) {
  /** Below this share of the median a pair or a node counts as slow. */
  static final double SLOW = 0.8;

  private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  public MeshReport {
    nodes = List.copyOf(nodes);
    pairs = List.copyOf(pairs);
    incast = List.copyOf(incast);
    all = List.copyOf(all);
    failures = List.copyOf(failures);
  }

  /**
   * What went from one node to another while a step lasted.
   *
   * @param initiator who posted
   * @param target whose memory was written or read
   * @param gbytesPerSecond payload per second, in units of 10⁹ bytes
   */
  public record Flow(String initiator, String target, double gbytesPerSecond) {
    boolean touches(String node) {
      return initiator.equals(node) || target.equals(node);
    }
  }

  /** Who is slow, one line each; empty if nobody is. */
  public List<String> slow() {
    List<String> lines = new ArrayList<>();
    if (pairs.size() < 3) {
      return lines; // Nothing to compare with.
    }
    double median = median(pairs);
    List<String> slowNodes = new ArrayList<>();
    for (String node : nodes) {
      List<Flow> own = pairs.stream().filter(flow -> flow.touches(node)).toList();
      List<Flow> others = pairs.stream().filter(flow -> !flow.touches(node)).toList();
      if (!own.isEmpty() && !others.isEmpty() && median(own) < SLOW * median(others)) {
        slowNodes.add(node);
        lines.add("slow node: %s, its pairs give %s GB/s, those of the others %s".formatted(node,
            BenchTable.figure(median(own)), BenchTable.figure(median(others))));
      }
    }
    for (Flow flow : pairs) {
      if (flow.gbytesPerSecond() < SLOW * median && slowNodes.stream().noneMatch(flow::touches)) {
        lines.add("slow pair: %s -> %s gives %s GB/s, the median pair %s".formatted(flow.initiator(), flow.target(),
            BenchTable.figure(flow.gbytesPerSecond()), BenchTable.figure(median)));
      }
    }
    return lines;
  }

  private static double median(List<Flow> flows) {
    return Spread.of(flows.stream().mapToDouble(Flow::gbytesPerSecond).toArray()).median();
  }

  private double rate(List<Flow> flows, String initiator, String target) {
    return flows.stream().filter(flow -> flow.initiator().equals(initiator) && flow.target().equals(target))
        .mapToDouble(Flow::gbytesPerSecond).sum();
  }

  /** The tables that people read. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(transport).append(' ').append(op.text()).append(", requests of ").append(ByteSize.format(requestBytes))
        .append(", GB/s (Gb/s is 8 times that)\n\n");
    matrix(text, "each pair alone (row posts, column is the target)", pairs);
    matrix(text, "all others to one at once", incast);
    for (String target : nodes) {
      text.append(String.format(Locale.ROOT, "  into %s: %s%n", target, BenchTable.figure(
          incast.stream().filter(flow -> flow.target().equals(target)).mapToDouble(Flow::gbytesPerSecond).sum())));
    }
    text.append('\n');
    matrix(text, "every pair at once", all);
    text.append("  in all: ").append(BenchTable.figure(all.stream().mapToDouble(Flow::gbytesPerSecond).sum()))
        .append("\n\n");
    List<String> slow = slow();
    text.append(slow.isEmpty() ? "nobody is slow" : String.join("\n", slow)).append('\n');
    return text.toString();
  }

  private void matrix(StringBuilder text, String title, List<Flow> flows) {
    int width = Math.max(8, nodes.stream().mapToInt(String::length).max().orElse(0) + 2);
    text.append(title).append('\n').append(" ".repeat(width));
    nodes.forEach(node -> text.append(String.format(Locale.ROOT, "%" + width + "s", node)));
    text.append('\n');
    for (String initiator : nodes) {
      text.append(String.format(Locale.ROOT, "%-" + width + "s", initiator));
      for (String target : nodes) {
        String figure = initiator.equals(target) ? "-" : BenchTable.figure(rate(flows, initiator, target));
        text.append(String.format(Locale.ROOT, "%" + width + "s", figure));
      }
      text.append('\n');
    }
  }

  /** One JSON object, ended by a line feed. */
  public String toJson(String version, HostFacts host) {
    ObjectNode root = JSON.createObjectNode();
    root.put("tool", "mesh").put("version", version);
    root.putObject("host").put("name", host.name()).put("os", host.os()).put("cpu", host.cpu())
        .put("cores", host.cores()).put("memory_bytes", host.memoryBytes()).put("jdk", host.jdk());
    root.put("transport", transport).put("op", op.text()).put("request_bytes", requestBytes);
    ArrayNode names = root.putArray("nodes");
    nodes.forEach(names::add);
    flows(root.putArray("pairs"), pairs);
    flows(root.putArray("incast"), incast);
    flows(root.putArray("all"), all);
    ArrayNode slowNodes = root.putArray("slow");
    slow().forEach(slowNodes::add);
    ArrayNode failureNodes = root.putArray("failures");
    failures.forEach(failureNodes::add);
    try {
      return JSON.writeValueAsString(root) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a tree of plain values is always JSON", e);
    }
  }

  private static void flows(ArrayNode nodes, List<Flow> flows) {
    flows.forEach(flow -> nodes.addObject().put("initiator", flow.initiator()).put("target", flow.target())
        .put("gbytes_per_s", flow.gbytesPerSecond()).put("gbits_per_s", 8 * flow.gbytesPerSecond()));
  }
}
