/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.telemetry.Anomaly;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Tells what is wrong with paths that are up. Looks a few times per heartbeat; owned by the link's owner. What it finds is
 * left at the path, as bits, for reports.
 */
final class FlowWatch {
  /** A path that is less than that share of the median is slow. */
  private static final double SLOW = 0.5;

  /** Compared with so many busy paths at least, itself among them. */
  private static final int COMPARED = 3;

  /** In one look; a single one may have come about by chance. */
  private static final int WAITED = 2;

  private double[] rates = new double[16];

  /**
   * Looks once.
   *
   * @param transfersWait whether bytes wait for paths with room
   * @param peerIsBehind whether notifications wait for the peer to take earlier ones
   */
  void look(List<PathGeneration> live, boolean transfersWait, boolean peerIsBehind, long mostInFlight, long now) {
    int busy = 0;
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp() && g.bytesInFlight > 0) {
        if (busy == rates.length) {
          rates = Arrays.copyOf(rates, 2 * busy);
        }
        rates[busy++] = g.path.pace.rate(false, now);
      }
    }
    Arrays.sort(rates, 0, busy);
    double median = busy == 0 ? 0 : rates[busy / 2];
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp()) {
        PathPace pace = g.path.pace;
        boolean full = g.bytesInFlight >= pace.flight(mostInFlight) || g.room() <= 0;
        boolean answersOnly = g.signed && g.lastProgress == g.watchedProgress;
        g.path.anomalies =
            g.bytesInFlight == 0
                ? idle(pace.waits(), peerIsBehind)
                : idle(pace.waits(), peerIsBehind || answersOnly)
                    | busy(transfersWait && full, pace.rate(false, now), busy < COMPARED ? 0 : median);
        g.watchedProgress = g.lastProgress;
        pace.forgetWaits();
      }
    }
  }

  /**
   * What can be wrong whether or not anything is under way.
   *
   * @param waits small chunks that waited behind others since the last look
   * @param peerIsBehind its kernel or NIC answers and nothing that its process would say comes, or it does not take
   *     notifications
   */
  static int idle(int waits, boolean peerIsBehind) {
    return (waits >= WAITED ? bit(Anomaly.HEAD_OF_LINE) : 0) | (peerIsBehind ? bit(Anomaly.PEER_NOT_READY) : 0);
  }

  /**
   * What can be wrong while something is under way.
   *
   * @param transfersWait whether bytes wait though this path has as much as it may have
   * @param rate its own
   * @param median of the busy paths, 0 if they are too few
   */
  static int busy(boolean transfersWait, double rate, double median) {
    return (transfersWait ? bit(Anomaly.BACK_PRESSURE) : 0) | (rate < SLOW * median ? bit(Anomaly.SLOW_RAIL) : 0);
  }

  @SuppressWarnings("EnumOrdinal") // of this process only
  private static int bit(Anomaly anomaly) {
    return 1 << anomaly.ordinal();
  }

  /** What bits stand for. */
  static Set<Anomaly> of(int bits) {
    Set<Anomaly> all = EnumSet.noneOf(Anomaly.class);
    for (Anomaly each : Anomaly.values()) {
      if ((bits & bit(each)) != 0) {
        all.add(each);
      }
    }
    return all;
  }
}
