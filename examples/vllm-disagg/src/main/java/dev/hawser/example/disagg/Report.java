/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import java.io.PrintWriter;
import java.util.Locale;

/** What the user reads, line by line as it happens. MB and GB are powers of ten. */
final class Report {
  private final PrintWriter out;

  Report(PrintWriter out) {
    this.out = out;
  }

  void model(KvShape shape, int tokens) {
    line("model", "Llama 3.1 8B, " + shape.layers() + " layers, " + shape.kvHeads() + " KV heads of " + shape.headDim()
        + ", bf16; blocks of " + shape.blockTokens() + " tokens: " + (shape.blockBytes() >> 10)
        + " KiB of K and of V per layer");
    line("request", tokens + " tokens: " + shape.blocksFor(tokens) + " blocks, "
        + megabytes((long) shape.blocksFor(tokens) * shape.planes() * shape.blockBytes()) + " in all layers");
  }

  void worker(String name, long pid, PoolLayout layout) {
    line(name, "process " + pid + ", " + layout.blocks() + " blocks, " + megabytes(layout.bytes()));
  }

  void metadata(String where) {
    line("metadata", where);
  }

  void transport(String names) {
    line("transport", names);
  }

  void pulled(String request, long bytes, long nanos) {
    line("pull", request + ": " + megabytes(bytes) + " read under a grant in " + millis(nanos) + ", "
        + rate(bytes, nanos));
  }

  void pushed(String request, long bytes, long nanos, long tailNanos) {
    line("push", request + ": " + megabytes(bytes) + " written layer by layer in " + millis(nanos) + ", "
        + rate(bytes, nanos) + " with the computing; done " + millis(tailNanos) + " after the last layer");
  }

  void stale(String request, String message) {
    line("stale", request + ": refused, as it has to be: " + message);
  }

  void sound(String worker, long owned, long others) {
    if (owned > 0) {
      line("verified", worker + ": " + owned + " blocks of requests hold what was computed for them");
    }
    line("verified", worker + ": " + others + " other blocks hold their poison: nothing else was written");
  }

  private void line(String what, String text) {
    out.println(String.format(Locale.ROOT, "%-10s%s", what, text));
    out.flush();
  }

  private static String megabytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f MB", bytes / 1e6);
  }

  private static String millis(long nanos) {
    return String.format(Locale.ROOT, "%.2f ms", nanos / 1e6);
  }

  /** Bytes per nanosecond are gigabytes per second. */
  private static String rate(long bytes, long nanos) {
    return String.format(Locale.ROOT, "%.2f GB/s", (double) bytes / Math.max(1, nanos));
  }
}
