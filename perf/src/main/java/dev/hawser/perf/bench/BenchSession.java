/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.List;

/** The directions of one transport between two nodes, open for any number of rows. */
public final class BenchSession implements AutoCloseable {
  private final BenchPlan plan;
  private final String transport;
  private final List<Direction> directions;
  private final RowRunner runner;

  BenchSession(BenchPlan plan, String transport, List<Direction> directions, RowRunner runner) {
    this.plan = plan;
    this.transport = transport;
    this.directions = List.copyOf(directions);
    this.runner = runner;
  }

  BenchRow measure(RowPlan row, RowTiming timing, BenchListener listener, List<String> failures) {
    String what = transport + " " + row.op().text() + " " + ByteSize.format(row.shape().requestBytes());
    listener.progress(what);
    RowRunner.Result result =
        runner.run(row, timing, share -> listener.progress("%s %d%%".formatted(what, Math.round(100 * share))));
    if (result.wrong() != null) {
      failures.add(what + ": " + result.wrong());
    }
    double bytes = (double) result.requests() * row.shape().requestBytes();
    return new BenchRow(transport, row.op(), plan.bidirectional(), plan.initiatorMemory().text(),
        plan.targetMemory().text(), row.shape().requestBytes(), row.shape().blockBytes(), row.shape().batch(),
        row.threads(), row.depth(), result.requests(), result.nanos() / 1e9, Latencies.of(result.timings().latency()),
        Latencies.of(result.timings().post()), Bench.cpuSecondsPerGib(result.cpuNanos(), bytes), result.rails(),
        row.verify(), result.wrong() == null ? 0 : 1);
  }

  /** Measures one row; what fails is added to the failures. */
  public BenchRow measure(Op op, RequestShape shape, RowTiming timing, BenchListener listener, List<String> failures) {
    return measure(plan.row(op, shape), timing, listener, failures);
  }

  @Override
  public void close() {
    RuntimeException first = null;
    for (Direction direction : directions) {
      try {
        direction.close();
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
