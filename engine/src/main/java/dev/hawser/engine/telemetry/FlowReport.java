/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.spi.NetworkReport;
import java.util.Optional;
import java.util.Set;

/**
 * One path as seen now.
 *
 * @param peer where it leads
 * @param transport its transport
 * @param rail ours
 * @param remoteRail the peer's
 * @param path its number within the link
 * @param up whether it can be used now
 * @param bytesWritten to the peer and acknowledged, since the link was made
 * @param bytesRead from the peer, likewise
 * @param bytesInFlight under way now
 * @param sinceProgressNanos since anything came from the peer on it; 0 if it is down
 * @param lastEight the last eight completions
 * @param lastMillisecond what completed in the last whole millisecond in which anything did, if that was within a second
 * @param latency of its chunks, from post to acknowledgement; one in sixteen is timed
 * @param network what the network below says, where it does
 * @param anomalies what is wrong with it now
 * @param fault why it failed the last time; empty if it never did
 */
public record FlowReport(
    String peer,
    String transport,
    String rail,
    String remoteRail,
    int path,
    boolean up,
    long bytesWritten,
    long bytesRead,
    long bytesInFlight,
    long sinceProgressNanos,
    FlowWindow lastEight,
    FlowWindow lastMillisecond,
    LatencyCounts latency,
    Optional<NetworkReport> network,
    Set<Anomaly> anomalies,
    String fault) {

  public FlowReport {
    anomalies = Set.copyOf(anomalies);
  }

  /** Acknowledged so far, in both directions. */
  public long bytes() {
    return bytesWritten + bytesRead;
  }
}
