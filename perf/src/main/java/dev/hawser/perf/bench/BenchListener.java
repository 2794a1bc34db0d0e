/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/** Hears how a bench gets on. */
public interface BenchListener {
  /** Something to know, on one line: a transport that is left out, and why. */
  void note(String text);

  /** What is being done now; shown on a terminal only. */
  void progress(String text);

  /** A row is finished. */
  void row(BenchRow row);

  /** A comparison is finished. */
  void peer(PeerRow row);

  /** Hears nothing. */
  BenchListener SILENT = new BenchListener() {
    @Override
    public void note(String text) {}

    @Override
    public void progress(String text) {}

    @Override
    public void row(BenchRow row) {}

    @Override
    public void peer(PeerRow row) {}
  };
}
