/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.perf.peers.Peer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** A bench from this process, as the initiator, to a target. */
public final class Bench implements AutoCloseable {
  private static final String GPU_IPC = "gpu-ipc";
  private static final double GIB = 1L << 30;
  /** The compilers need that much before a transport's first row. */
  private static final int FIRST_WARMUPS = 5;

  private final BenchNode node;
  private final String target;

  private Bench(BenchNode node, String target) {
    this.node = node;
    this.target = target;
  }

  /**
   * Starts the initiator and waits for the target.
   *
   * @param wait how long
   */
  public static Bench start(NodeConfig config, String target, Duration wait) {
    BenchNode node = new BenchNode(config);
    boolean started = false;
    try {
      node.awaitNode(target, wait);
      started = true;
      return new Bench(node, target);
    } finally {
      if (!started) {
        node.close();
      }
    }
  }

  /** Measures every row of a plan. A transport or a row that fails is told in the outcome; the others go on. */
  public BenchOutcome run(BenchPlan plan, BenchListener listener) {
    return run(plan, List.of(), 0, listener);
  }

  /**
   * As {@link #run(BenchPlan, BenchListener)}, and each row beside other programs.
   *
   * @param peers those to run, as far as they are here and have something to compare
   * @param pairs how often ours and a peer run in turn
   */
  public BenchOutcome run(BenchPlan plan, List<Peer> peers, int pairs, BenchListener listener) {
    List<BenchRow> rows = new ArrayList<>();
    List<PeerRow> peerRows = new ArrayList<>();
    List<String> failures = new ArrayList<>();
    Comparison comparison = new Comparison(plan, peers, pairs, listener, failures);
    for (String transport : transports(plan, listener)) {
      try (BenchSession session = open(plan, transport)) {
        boolean first = true;
        for (Op op : plan.ops()) {
          for (RequestShape shape : plan.shapes()) {
            RowTiming timing = plan.timing();
            if (first) {
              timing = new RowTiming(timing.warmup().multipliedBy(FIRST_WARMUPS), timing.duration(),
                  timing.iterations());
            }
            BenchRow row = session.measure(plan.row(op, shape), timing, listener, failures);
            rows.add(row);
            listener.row(row);
            first = false;
            if (row.errors() != 0) {
              node.requireAnswer(target);
            } else {
              peerRows.addAll(comparison.compare(session::measure, transport, op, shape));
            }
          }
        }
      } catch (RuntimeException e) {
        failures.add(transport + ": " + e.getMessage());
        if (!node.answers(target)) {
          failures.add("'" + target + "' is gone; what was still to be measured is left out");
          break;
        }
      }
    }
    return new BenchOutcome(rows, peerRows, failures);
  }

  private List<String> transports(BenchPlan plan, BenchListener listener) {
    if (!plan.transports().isEmpty()) {
      Set<String> known = new TreeSet<>(node.transports());
      known.addAll(node.absentTransports().keySet());
      for (String name : plan.transports()) {
        if (!known.contains(name)) {
          throw new UnknownNameException("--transport " + name + ": there is no such transport; there are " + known);
        }
      }
      return plan.transports();
    }
    node.absentTransports().forEach((name, reason) -> listener.note(name + " is left out: " + reason));
    Set<String> common = new TreeSet<>(node.transports());
    Set<String> theirs = node.transports(target);
    for (String name : List.copyOf(common)) {
      if (!theirs.contains(name)) {
        common.remove(name);
        listener.note(name + " is left out: it does not work at '" + target + "'");
      } else if (node.isOffRails(name)) {
        common.remove(name);
        listener.note(name + " is left out: none of --rails is a rail of it");
      }
    }
    if (plan.initiatorMemory().device().isHost() && plan.targetMemory().device().isHost() && common.remove(GPU_IPC)) {
      listener.note(GPU_IPC + " is left out: no memory is a GPU's; give --initiator-memory or --target-memory cuda:0");
    }
    if (common.isEmpty()) {
      throw new BenchException("no transport works both here and at '" + target + "'; see hawser doctor");
    }
    return List.copyOf(common);
  }

  /** Opens the directions of a transport, with memory for all rows of the plan. */
  public BenchSession open(BenchPlan plan, String transport) {
    long bytes = 1;
    for (RequestShape shape : plan.shapes()) {
      bytes = Math.max(bytes, plan.row(Op.WRITE, shape).windowBytes());
    }
    DirectionConfig config = new DirectionConfig(transport, bytes, plan.initiatorMemory(), plan.targetMemory());
    List<Direction> directions = new ArrayList<>();
    boolean opened = false;
    try {
      directions.add(node.open(node.name(), target, config));
      if (plan.bidirectional()) {
        directions.add(node.open(target, node.name(), config));
      }
      opened = true;
      return new BenchSession(plan, transport, directions,
          new RowRunner(directions, List.of(node.name(), target), node::cpuNanos, 0));
    } finally {
      if (!opened) {
        directions.forEach(Direction::close);
      }
    }
  }

  static double cpuSecondsPerGib(long cpuNanos, double bytes) {
    return bytes == 0 ? 0 : cpuNanos / 1e9 / (bytes / GIB);
  }

  @Override
  public void close() {
    node.close();
  }
}
