/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Reachability;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
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
  private static final VarHandle BYTES_ACKNOWLEDGED;

  static {
    try {
      BYTES_ACKNOWLEDGED = MethodHandles.lookup().findVarHandle(Path.class, "bytesAcknowledged", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private long bytesAcknowledged;

  int nextGeneration = 1;
  boolean opening;
  boolean everUp;
  int failures;
  long reopenAt;

  /** Bytes per second as measured; the same guess for all until there is something to measure. */
  double bandwidth = 1e9;

  Path(int id, int tierIndex, Tier tier, Reachability.Route route, long now) {
    this.id = id;
    this.tierIndex = tierIndex;
    this.tier = tier;
    this.route = route;
    this.reopenAt = now;
  }

  /** Owner only. */
  void acknowledged(long bytes) {
    BYTES_ACKNOWLEDGED.setOpaque(this, bytesAcknowledged + bytes);
  }

  /** Any thread. */
  long bytesAcknowledged() {
    return (long) BYTES_ACKNOWLEDGED.getOpaque(this);
  }

  @Override
  public String toString() {
    return "path " + id + " (" + route.local() + " → " + route.remote() + ")";
  }
}
