/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.List;

/**
 * What a bench found.
 *
 * @param rows in order
 * @param peers other programs beside them
 * @param failures rows and transports that failed, one line each
 */
public record BenchOutcome(List<BenchRow> rows, List<PeerRow> peers, List<String> failures) {

  public BenchOutcome {
    rows = List.copyOf(rows);
    peers = List.copyOf(peers);
    failures = List.copyOf(failures);
  }
}
