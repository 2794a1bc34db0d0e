/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.bench.BenchReport;
import dev.hawser.perf.bench.BenchRow;
import dev.hawser.perf.bench.ByteSize;
import dev.hawser.perf.plot.Panel;
import dev.hawser.perf.plot.Series;
import dev.hawser.perf.plot.SvgPlot;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Draws a report: bandwidth, and the median latency, over the size of a request. */
final class BenchPlots {
  private BenchPlots() {}

  static String draw(BenchReport report) {
    List<Panel> panels = List.of(
        new Panel("Bandwidth, GB/s", "GB/s", false, series(report, BenchRow::gbytesPerSecond)),
        new Panel("Latency of one request, median, us", "us", true, series(report, row -> row.latency().p50())));
    String title = "hawser bench " + report.version() + " on " + report.host().cpu() + ", " + report.host().cores()
        + " cores";
    return SvgPlot.draw(title, panels, ByteSize::format);
  }

  private static List<Series> series(BenchReport report, ToDoubleFunction<BenchRow> value) {
    Map<String, List<Series.Point>> byName = new LinkedHashMap<>();
    for (BenchRow row : report.rows()) {
      List<Series.Point> points = byName.computeIfAbsent(name(row), _ -> new ArrayList<>());
      double height = value.applyAsDouble(row);
      if (height > 0) { // A row that failed at once has none.
        points.add(new Series.Point(row.requestBytes(), height));
      }
    }
    List<Series> all = new ArrayList<>();
    byName.forEach((name, points) -> {
      points.sort(Comparator.comparingLong(Series.Point::bytes));
      all.add(new Series(name, points));
    });
    return all;
  }

  private static String name(BenchRow row) {
    String blocks = row.batch() == 1 ? "" : ", " + ByteSize.format(row.blockBytes()) + " blocks";
    return row.transport() + " " + row.op().text() + (row.bidirectional() ? " both ways" : "") + blocks;
  }
}
