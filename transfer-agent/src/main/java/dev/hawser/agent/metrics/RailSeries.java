/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metrics;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.engine.telemetry.Anomaly;
import dev.hawser.engine.telemetry.FlowReport;
import java.util.List;

/**
 * What all paths to one peer by one rail have done. Counters go on when a link is made anew, though its own begin from
 * nothing. One thread looks, any thread reads.
 */
final class RailSeries {
  /** One look. */
  @SuppressWarnings("ArrayRecordComponent") // looks are never compared
  private record Look(
      long inFlight,
      int up,
      int down,
      long roundTripNanos,
      int[] anomalies) {}

  private static final Look NOTHING =
      new Look(0, 0, 0, 0, new int[Anomaly.values().length]);

  private final Ever written = new Ever();
  private final Ever read = new Ever();
  private final Ever retransmitted = new Ever();
  private final Ever chunks = new Ever();
  private final Ever chunkNanos = new Ever();
  private volatile Look last = NOTHING;

  /** Grows, whatever is counted begins anew. */
  private static final class Ever {
    private long base;
    private long last;
    private volatile long sum;

    void see(long count) {
      if (count < last) {
        base += last;
      }
      last = count;
      sum = base + count;
    }
  }

  void see(List<FlowReport> paths) {
    long bytesWritten = 0;
    long bytesRead = 0;
    long again = 0;
    long inFlight = 0;
    int up = 0;
    long roundTrip = 0;
    LatencyCounts latency = LatencyCounts.EMPTY;
    int[] anomalies = new int[Anomaly.values().length];
    for (FlowReport path : paths) {
      bytesWritten += path.bytesWritten();
      bytesRead += path.bytesRead();
      again += path.network().map(NetworkReport::retransmitted).orElse(0L);
      roundTrip = Math.max(roundTrip, path.network().map(NetworkReport::roundTripNanos).orElse(0L));
      inFlight += path.bytesInFlight();
      up += path.up() ? 1 : 0;
      latency = latency.plus(path.latency());
      for (Anomaly each : path.anomalies()) {
        anomalies[index(each)]++;
      }
    }
    written.see(bytesWritten);
    read.see(bytesRead);
    retransmitted.see(again);
    chunks.see(latency.count());
    chunkNanos.see(latency.totalNanos());
    last = new Look(inFlight, up, paths.size() - up, roundTrip, anomalies);
  }

  @SuppressWarnings("EnumOrdinal") // of this process only
  private static int index(Anomaly anomaly) {
    return anomaly.ordinal();
  }

  double written() {
    return written.sum;
  }

  double read() {
    return read.sum;
  }

  double retransmitted() {
    return retransmitted.sum;
  }

  long chunks() {
    return chunks.sum;
  }

  double chunkNanos() {
    return chunkNanos.sum;
  }

  double inFlight() {
    return last.inFlight;
  }

  double up() {
    return last.up;
  }

  double down() {
    return last.down;
  }

  double roundTripNanos() {
    return last.roundTripNanos;
  }

  double pathsWith(Anomaly anomaly) {
    return last.anomalies[index(anomaly)];
  }
}
