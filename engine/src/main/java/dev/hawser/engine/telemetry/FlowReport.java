/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

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
 * @param bytes acknowledged so far, in both directions
 * @param bytesInFlight under way now
 * @param sinceProgressNanos since anything came from the peer on it; 0 if it is down
 * @param lastEight the last eight completions
 * @param lastMillisecond what completed in the last whole millisecond in which anything did, if that was within a second
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
    long bytes,
    long bytesInFlight,
    long sinceProgressNanos,
    FlowWindow lastEight,
    FlowWindow lastMillisecond,
    Set<Anomaly> anomalies,
    String fault) {

  public FlowReport {
    anomalies = Set.copyOf(anomalies);
  }
}
