/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.telemetry.FlowRecorder;
import dev.hawser.memory.Device;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The initiator's view of one path: a route and the generations that come and go on it. */
final class Path {
  final int id;
  final int tierIndex;
  final Tier tier;
  final Reachability.Route route;

  /** The generation that is up; written by the owner, read by reports. */
  volatile @Nullable PathGeneration current;

  volatile String lastFault = "";
  final PathTraffic traffic = new PathTraffic();

  int nextGeneration = 1;
  boolean opening;
  boolean everUp;

  /** In a row: attempts to open it, and generations that broke, without data that were acknowledged. */
  int failures;

  long reopenAt;

  final PathPace pace;

  /** By device, how near its rail is. */
  private final Map<Device, Double> nearness = new HashMap<>();

  /** What is under way on its route; null where the initiator's own processor moves the bytes. */
  final @Nullable RouteFlight flight;

  final FlowRecorder flow = new FlowRecorder();

  /** What the network said of it when it was last asked. */
  volatile @Nullable NetworkReport network;

  /** What {@link FlowWatch} found. */
  volatile int anomalies;

  Path(int id, int tierIndex, Tier tier, Reachability.Route route, @Nullable RouteFlight flight, long now) {
    this.id = id;
    this.tierIndex = tierIndex;
    this.tier = tier;
    this.route = route;
    this.flight = flight;
    this.pace = new PathPace(flight != null);
    this.reopenAt = now;
  }

  double nearness(Device device, RailNearness all) {
    return nearness.computeIfAbsent(device, each -> all.weight(each, route.local()));
  }

  @Override
  public String toString() {
    return "path " + id + " (" + route.local() + " → " + route.remote() + ")";
  }
}
