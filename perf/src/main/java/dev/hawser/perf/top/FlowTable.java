/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import com.fasterxml.jackson.databind.JsonNode;
import dev.hawser.engine.telemetry.PortReport;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What flowed lately, a row for each path, with its course as a line of blocks. Not thread-safe. */
public final class FlowTable {
  /** Points of a course. */
  private static final int POINTS = 24;

  /** A path of which nothing was written for so long before the last line is not shown any more. */
  private static final long GONE_MILLIS = 10_000;

  private static final String BLOCKS = " ▁▂▃▄▅▆▇█";

  private record Id(String agent, String peer, String rail, int path) {
    static final Comparator<Id> ORDER =
        Comparator.comparing(Id::agent).thenComparing(Id::peer).thenComparing(Id::rail).thenComparingInt(Id::path);
  }

  private static final class Row {
    final Deque<Double> gbits = new ArrayDeque<>();
    @Nullable
    FlowLine last;
    long sentAgain;

    void add(FlowLine line) {
      FlowLine before = last;
      last = line;
      if (before == null || line.atMillis() <= before.atMillis()) {
        return;
      }
      sentAgain = Math.max(0, line.retransmitted() - before.retransmitted());
      // Fewer than before: another link, which counts from the beginning.
      long moved = line.bytes() < before.bytes() ? line.bytes() : line.bytes() - before.bytes();
      gbits.addLast(moved * 8e-6 / (line.atMillis() - before.atMillis()));
      if (gbits.size() > POINTS) {
        gbits.removeFirst();
      }
    }
  }

  private record PortId(String agent, String rail) {
    static final Comparator<PortId> ORDER = Comparator.comparing(PortId::agent).thenComparing(PortId::rail);
  }

  /** The port of a rail: what has been counted since the line before. */
  private static final class PortRow {
    @Nullable
    PortLine last;
    Map<String, Long> news = Map.of();

    void add(PortLine line) {
      PortLine before = last;
      last = line;
      if (before == null) {
        return;
      }
      Map<String, Long> more = new TreeMap<>();
      line.counters().forEach((name, count) -> {
        long added = count - before.counters().getOrDefault(name, 0L);
        if (added > 0 && PortReport.isTrouble(name)) {
          more.put(name, added);
        }
      });
      news = more;
    }
  }

  private final Map<Id, Row> rows = new TreeMap<>(Id.ORDER);
  private final Map<PortId, PortRow> ports = new TreeMap<>(PortId.ORDER);
  private long latest;

  /**
   * Takes a line of an agent's file.
   *
   * @return false for any other, which is passed over
   */
  public boolean add(String line) {
    Optional<JsonNode> read = FlowLine.read(line);
    read.ifPresent(node -> {
      if (node.has("path")) {
        FlowLine flow = FlowLine.of(node);
        rows.computeIfAbsent(new Id(flow.agent(), flow.peer(), flow.rail(), flow.path()), _ -> new Row()).add(flow);
        latest = Math.max(latest, flow.atMillis());
      } else {
        PortLine port = PortLine.of(node);
        ports.computeIfAbsent(new PortId(port.agent(), port.rail()), _ -> new PortRow()).add(port);
      }
    });
    return read.isPresent();
  }

  /** The table, each line ended by a line feed. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(String.format(Locale.ROOT, "%-14s %-14s %-22s %4s %8s  %-" + POINTS + "s %9s %9s %10s %8s %6s  %s%n",
        "agent", "peer", "rail", "path", "Gb/s", "course", "mean us", "max us", "in flight", "rtt us", "again",
        "what is wrong"));
    double sum = 0;
    for (Map.Entry<Id, Row> entry : rows.entrySet()) {
      FlowLine line = entry.getValue().last;
      if (line == null || latest - line.atMillis() > GONE_MILLIS) {
        continue;
      }
      Deque<Double> course = entry.getValue().gbits;
      double present = course.isEmpty() ? 0 : course.getLast();
      sum += present;
      text.append(
          String.format(Locale.ROOT, "%-14s %-14s %-22s %4d %8.3f  %-" + POINTS + "s %9d %9d %10d %8d %6d  %s%n",
              line.agent(), line.peer(), line.rail(), line.path(), present, course(course), line.meanMicros(),
              line.maxMicros(), line.inFlight(), line.roundTripMicros(), entry.getValue().sentAgain, wrong(line)));
    }
    text.append(String.format(Locale.ROOT, "%-57s %8.3f%n", "in all", sum));
    for (Map.Entry<PortId, PortRow> entry : ports.entrySet()) {
      PortLine line = entry.getValue().last;
      if (line != null && latest - line.atMillis() <= GONE_MILLIS && !entry.getValue().news.isEmpty()) {
        text.append(String.format(Locale.ROOT, "%-14s %-14s %-22s counted%s%n", line.agent(), line.port(), line.rail(),
            entry.getValue().news.entrySet().stream().map(each -> " " + each.getKey() + " +" + each.getValue())
                .collect(Collectors.joining(","))));
      }
    }
    return text.toString();
  }

  private static String wrong(FlowLine line) {
    if (!line.up()) {
      return "DOWN " + line.fault();
    }
    return String.join(", ", line.anomalies()).replace('_', ' ');
  }

  private static String course(Deque<Double> gbits) {
    double most = gbits.stream().mapToDouble(x -> x).max().orElse(0);
    StringBuilder course = new StringBuilder();
    for (double each : gbits) {
      int level = most == 0 ? 0 : (int) Math.ceil(each / most * (BLOCKS.length() - 1));
      course.append(BLOCKS.charAt(level));
    }
    return course.toString();
  }
}
