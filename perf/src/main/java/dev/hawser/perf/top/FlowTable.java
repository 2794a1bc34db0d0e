/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
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

    void add(FlowLine line) {
      FlowLine before = last;
      last = line;
      if (before == null || line.atMillis() <= before.atMillis()) {
        return;
      }
      // Fewer than before: another link, which counts from the beginning.
      long moved = line.bytes() < before.bytes() ? line.bytes() : line.bytes() - before.bytes();
      gbits.addLast(moved * 8e-6 / (line.atMillis() - before.atMillis()));
      if (gbits.size() > POINTS) {
        gbits.removeFirst();
      }
    }
  }

  private final Map<Id, Row> rows = new TreeMap<>(Id.ORDER);
  private long latest;

  /**
   * Takes a line of an agent's file.
   *
   * @return false for any other, which is passed over
   */
  public boolean add(String line) {
    Optional<FlowLine> parsed = FlowLine.parse(line);
    parsed.ifPresent(flow -> {
      rows.computeIfAbsent(new Id(flow.agent(), flow.peer(), flow.rail(), flow.path()), _ -> new Row()).add(flow);
      latest = Math.max(latest, flow.atMillis());
    });
    return parsed.isPresent();
  }

  /** The table, each line ended by a line feed. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(String.format(Locale.ROOT, "%-14s %-14s %-22s %4s %8s  %-" + POINTS + "s %9s %9s %10s  %s%n", "agent",
        "peer", "rail", "path", "Gb/s", "course", "mean us", "max us", "in flight", "what is wrong"));
    double sum = 0;
    for (Map.Entry<Id, Row> entry : rows.entrySet()) {
      FlowLine line = entry.getValue().last;
      if (line == null || latest - line.atMillis() > GONE_MILLIS) {
        continue;
      }
      Deque<Double> course = entry.getValue().gbits;
      double present = course.isEmpty() ? 0 : course.getLast();
      sum += present;
      text.append(String.format(Locale.ROOT, "%-14s %-14s %-22s %4d %8.3f  %-" + POINTS + "s %9d %9d %10d  %s%n",
          line.agent(), line.peer(), line.rail(), line.path(), present, course(course), line.meanMicros(),
          line.maxMicros(), line.inFlight(), wrong(line)));
    }
    text.append(String.format(Locale.ROOT, "%-57s %8.3f%n", "in all", sum));
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
