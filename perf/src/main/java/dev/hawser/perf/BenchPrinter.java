/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.bench.BenchListener;
import dev.hawser.perf.bench.BenchRow;
import dev.hawser.perf.bench.BenchTable;
import dev.hawser.perf.bench.PeerRow;
import java.io.PrintWriter;

/** Prints rows as they come, notes beside them, and what is being done on a terminal. */
final class BenchPrinter implements BenchListener {
  private final PrintWriter out;
  private final PrintWriter err;
  private final Progress progress;
  private boolean headed;

  BenchPrinter(PrintWriter out, PrintWriter err, Progress progress) {
    this.out = out;
    this.err = err;
    this.progress = progress;
  }

  @Override
  public void note(String text) {
    progress.clear();
    err.println("hawser bench: " + Hawser.oneLine(text));
  }

  @Override
  public void progress(String text) {
    progress.show(text);
  }

  @Override
  public void row(BenchRow row) {
    progress.clear();
    if (!headed) {
      out.print(BenchTable.heading());
      headed = true;
    }
    out.print(BenchTable.line(row));
    out.flush();
  }

  @Override
  public void peer(PeerRow row) {
    progress.clear();
    out.print(BenchTable.line(row));
    out.flush();
  }
}
