/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Measures between named nodes, from a process that moves no bytes itself: it tells the nodes what to do. */
public final class Mesh implements AutoCloseable {
  private final BenchNode node;
  /** No generation comes twice, so that what an earlier step left is seen as stale. */
  private long generations;

  private Mesh(BenchNode node) {
    this.node = node;
  }

  /**
   * Starts the process's own node and waits for all others.
   *
   * @param wait how long for each
   */
  public static Mesh start(NodeConfig config, List<String> nodes, Duration wait) {
    BenchNode node = new BenchNode(config);
    boolean started = false;
    try {
      for (String each : nodes) {
        node.awaitNode(each, wait);
      }
      started = true;
      return new Mesh(node);
    } finally {
      if (!started) {
        node.close();
      }
    }
  }

  /**
   * The transports that work at every node.
   *
   * @throws BenchException if there is none
   */
  public Set<String> transports(List<String> nodes) {
    Set<String> common = new TreeSet<>(node.transports(nodes.getFirst()));
    for (String each : nodes) {
      common.retainAll(node.transports(each));
    }
    if (common.isEmpty()) {
      throw new BenchException(
          "no transport works at every one of " + String.join(", ", nodes) + "; see hawser doctor");
    }
    return common;
  }

  /** Measures each pair alone, then all others to one for each, then everything at once. */
  public MeshReport run(MeshPlan plan, BenchListener listener) {
    DirectionConfig config =
        new DirectionConfig(plan.transport(), plan.row().windowBytes(), MemoryKind.HOST, MemoryKind.HOST);
    List<String> failures = new ArrayList<>();
    List<MeshReport.Flow> pairs = new ArrayList<>();
    Map<String, Direction> open = new HashMap<>();
    try {
      for (String initiator : plan.nodes()) {
        for (String target : plan.nodes()) {
          if (!initiator.equals(target)) {
            String name = initiator + " -> " + target;
            listener.progress(name);
            Direction direction = open(initiator, target, config, failures);
            if (direction != null) {
              open.put(name, direction);
              pairs.addAll(measure(plan, List.of(new Pair(initiator, target)), open, failures));
            }
          }
        }
      }
      List<MeshReport.Flow> incast = new ArrayList<>();
      for (String target : plan.nodes()) {
        listener.progress("all -> " + target);
        incast.addAll(measure(plan, pairs(plan, target), open, failures));
      }
      listener.progress("every pair at once");
      List<MeshReport.Flow> all = measure(plan, pairs(plan, null), open, failures);
      return new MeshReport(plan.nodes(), plan.transport(), plan.op(), plan.shape().requestBytes(), pairs, incast, all,
          failures);
    } finally {
      open.values().forEach(Direction::close);
    }
  }

  private record Pair(String initiator, String target) {
    String name() {
      return initiator + " -> " + target;
    }
  }

  private static List<Pair> pairs(MeshPlan plan, @Nullable String onlyTarget) {
    List<Pair> pairs = new ArrayList<>();
    for (String initiator : plan.nodes()) {
      for (String target : plan.nodes()) {
        if (!initiator.equals(target) && (onlyTarget == null || target.equals(onlyTarget))) {
          pairs.add(new Pair(initiator, target));
        }
      }
    }
    return pairs;
  }

  private @Nullable Direction open(String initiator, String target, DirectionConfig config, List<String> failures) {
    try {
      return node.open(initiator, target, config);
    } catch (RuntimeException e) {
      failures.add(initiator + " -> " + target + ": " + e.getMessage());
      return null;
    }
  }

  /** Measures pairs that go at once; those that could not be opened are left out, and have been told. */
  private List<MeshReport.Flow> measure(MeshPlan plan, List<Pair> wanted, Map<String, Direction> open,
      List<String> failures) {
    List<Pair> pairs = wanted.stream().filter(pair -> open.containsKey(pair.name())).toList();
    if (pairs.isEmpty()) {
      return List.of();
    }
    List<Direction> directions = new ArrayList<>();
    Set<String> nodes = new HashSet<>();
    for (Pair pair : pairs) {
      Direction direction = open.get(pair.name());
      if (direction != null) {
        directions.add(direction);
      }
      nodes.add(pair.initiator());
      nodes.add(pair.target());
    }
    RowRunner runner = new RowRunner(directions, List.copyOf(nodes), node::cpuNanos, generations);
    RowRunner.Result result = runner.run(plan.row(), plan.timing(), _ -> {});
    generations = runner.generation();
    if (result.wrong() != null) {
      failures.add(result.wrong());
    }
    List<MeshReport.Flow> flows = new ArrayList<>();
    for (int i = 0; i < pairs.size(); i++) {
      Round round = result.perDirection().get(i);
      double rate = round.nanos() == 0
          ? 0
          : (double) round.requests() * plan.shape().requestBytes() / round.nanos();
      flows.add(new MeshReport.Flow(pairs.get(i).initiator(), pairs.get(i).target(), rate));
    }
    return flows;
  }

  @Override
  public void close() {
    node.close();
  }
}
