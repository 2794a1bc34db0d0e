/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Locale;

/** The lines that people read; each row is printed as soon as it is known. */
public final class BenchTable {
  private static final String FORMAT = "%-9s %-7s %7s %14s %7s %9s %9s %10s %10s %9s %9s %8s%n";

  private BenchTable() {}

  /** The heading, two lines. */
  public static String heading() {
    return String.format(Locale.ROOT, FORMAT, "transport", "op", "request", "blocks", "in air", "GB/s", "Gb/s",
        "p50 us", "p99 us", "post us", "cpu s/GiB", "verified")
        + "-".repeat(120) + System.lineSeparator();
  }

  /** One line. */
  public static String line(BenchRow row) {
    String op = row.op().text() + (row.bidirectional() ? "<>" : "");
    String blocks = row.batch() + " x " + ByteSize.format(row.blockBytes());
    String inAir = row.threads() == 1 ? "" + row.depth() : row.threads() + "x" + row.depth();
    String verified = row.errors() > 0 ? "WRONG" : row.verified().text();
    return String.format(Locale.ROOT, FORMAT, row.transport(), op, ByteSize.format(row.requestBytes()), blocks, inAir,
        figure(row.gbytesPerSecond()), figure(row.gbitsPerSecond()), figure(row.latency().p50()),
        figure(row.latency().p99()), figure(row.post().p50()), figure(row.cpuSecondsPerGib()), verified);
  }

  /** One line for a comparison. */
  public static String line(PeerRow peer) {
    String unit = peer.metric().equals("latency_us") ? "us" : "GB/s";
    return String.format(Locale.ROOT, "%-9s %-7s %7s %14s  %-14s %9s %s (ours %s), ratio %.2f [%.2f..%.2f], %d pairs%n",
        peer.transport(), peer.op(), ByteSize.format(peer.requestBytes()),
        peer.requestBytes() / peer.blockBytes() + " x " + ByteSize.format(peer.blockBytes()), peer.name(),
        figure(peer.peer().median()), unit, figure(peer.ours().median()), peer.ratio().median(), peer.ratio().low(),
        peer.ratio().high(), peer.pairs());
  }

  /** A row in a few words. */
  public static String what(BenchRow row) {
    return row.transport() + " " + row.op().text() + " " + ByteSize.format(row.requestBytes());
  }

  /** Three significant digits, never in powers of ten. */
  public static String figure(double value) {
    int digits = value == 0 ? 2 : Math.clamp(2 - (long) Math.floor(Math.log10(Math.abs(value))), 0, 7);
    return String.format(Locale.ROOT, "%." + digits + "f", value);
  }
}
