/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Map;

/**
 * What went over one rail during a row.
 *
 * @param name the rail, {@code transport:name}
 * @param bytes payload, acknowledged
 * @param counters whatever else the transport counts
 */
public record RailUse(String name, long bytes, Map<String, Long> counters) {

  public RailUse {
    counters = Map.copyOf(counters);
  }
}
