/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.perf.peers.Peer;
import dev.hawser.perf.peers.PeerException;
import dev.hawser.perf.peers.PeerRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Runs ours and a peer in turn, A B B A A B B A …, so that whatever the machine is doing besides meets both alike,
 * and compares them pair by pair.
 */
final class Comparison {
  /** Ours are warm from the row before. */
  private static final Duration WARMUP = Duration.ofMillis(50);

  private final BenchPlan plan;
  private final List<Peer> peers;
  private final int pairs;
  private final BenchListener listener;
  private final List<String> failures;

  /**
   * A comparison.
   *
   * @param pairs how often both run
   * @param failures gets what fails, one line each
   */
  Comparison(BenchPlan plan, List<Peer> peers, int pairs, BenchListener listener, List<String> failures) {
    this.plan = plan;
    this.peers = List.copyOf(peers);
    this.pairs = pairs;
    this.listener = listener;
    this.failures = failures;
  }

  /** Ours, once more. */
  interface Ours {
    BenchRow measure(Op op, RequestShape shape, RowTiming timing, BenchListener listener, List<String> failures);
  }

  /** Compares one row with every peer that has something to compare. */
  List<PeerRow> compare(Ours ours, String transport, Op op, RequestShape shape) {
    List<PeerRow> rows = new ArrayList<>();
    boolean mapped = plan.initiatorMemory().equals(MemoryKind.HOST) && plan.targetMemory().equals(MemoryKind.HOST);
    PeerRequest request = new PeerRequest(transport, op == Op.READ, mapped, shape.requestBytes(), shape.blockBytes(),
        plan.row(op, shape).windowBytes(), plan.timing().duration(), plan.row(op, shape).depth(),
        plan.initiatorMemory().device(), plan.targetMemory().device());
    for (Peer peer : peers) {
      Optional<Peer.Metric> metric = peer.comparable(request);
      if (metric.isPresent() && peer.missing().isEmpty()) {
        try {
          rows.add(compare(ours, peer, metric.get(), request, op, shape));
          listener.peer(rows.getLast());
        } catch (PeerException e) {
          failures.add("peer " + peer.name() + ", " + transport + " " + op.text() + " "
              + ByteSize.format(shape.requestBytes()) + ": " + e.getMessage());
        }
      }
    }
    return rows;
  }

  private PeerRow compare(Ours ours, Peer peer, Peer.Metric metric, PeerRequest request, Op op, RequestShape shape) {
    double[] our = new double[pairs];
    double[] their = new double[pairs];
    double[] ratio = new double[pairs];
    RowTiming timing = new RowTiming(WARMUP, plan.timing().duration(), plan.timing().iterations());
    for (int i = 0; i < pairs; i++) {
      listener.progress("%s %s %s beside %s, pair %d of %d".formatted(request.transport(), op.text(),
          ByteSize.format(shape.requestBytes()), peer.name(), i + 1, pairs));
      if (i % 2 == 0) {
        our[i] = value(ours.measure(op, shape, timing, BenchListener.SILENT, failures), metric);
        their[i] = peer.measure(request);
      } else {
        their[i] = peer.measure(request);
        our[i] = value(ours.measure(op, shape, timing, BenchListener.SILENT, failures), metric);
      }
      ratio[i] = our[i] / their[i];
    }
    return new PeerRow(peer.name(), request.transport(), op.text(), shape.requestBytes(), shape.blockBytes(), pairs,
        metric.name().toLowerCase(Locale.ROOT), Spread.of(their), Spread.of(our), Spread.of(ratio));
  }

  private static double value(BenchRow row, Peer.Metric metric) {
    return switch (metric) {
      case GBYTES_PER_S -> row.gbytesPerSecond();
      case LATENCY_US -> row.latency().p50();
    };
  }
}
