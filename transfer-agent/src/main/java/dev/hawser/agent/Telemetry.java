/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.Link;
import dev.hawser.engine.Link.PathReport;
import dev.hawser.engine.spi.Rail;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What this agent's transfers did since the last look, by rail and by peer, from the counters that the engine keeps. An
 * agent counts what it asked for itself: what peers read from and write to it is counted by them. Not thread-safe.
 */
final class Telemetry {
  /** Rates over less than that are noise: the last ones stand. */
  private static final long SHORTEST_NANOS = 200_000_000;

  private Map<PathId, PathReport> before = Map.of();
  private long beforeAt;
  private @Nullable Sample last;

  /** A path, as long as its link lives. */
  private record PathId(Object link, int path) {}

  /**
   * What is looked at.
   *
   * @param name of the peer
   * @param link the link to it; another one counts from the beginning
   * @param state the link's
   * @param paths the link's
   */
  record PeerLink(String name, Object link, Link.State state, List<PathReport> paths) {
    static PeerLink of(String name, Link link) {
      return new PeerLink(name, link, link.state(), link.paths());
    }
  }

  /**
   * A look.
   *
   * @param rails ours, also those that carry nothing
   * @param peers those that there is a link to
   */
  record Sample(List<RailLoad> rails, List<PeerLoad> peers) {}

  /**
   * One rail.
   *
   * @param name the transport and the rail
   * @param up false if no path over it is up although the peer is reached over others: then the rail is to blame
   * @param note why it is down; else empty
   * @param bytesOut since the links were made
   * @param bytesIn likewise
   * @param gbitsOut since the look before, 10^9 bits a second
   * @param gbitsIn likewise
   * @param latency of chunks since the look before
   */
  record RailLoad(String name, boolean up, String note, long bytesOut, long bytesIn, double gbitsOut, double gbitsIn,
      LatencyCounts latency) {}

  /**
   * One peer.
   *
   * @param name its name
   * @param gbits since the look before, in both directions
   * @param failed paths that are down now
   */
  record PeerLoad(String name, double gbits, List<FailedPath> failed) {}

  /**
   * A path that is down.
   *
   * @param rail the transport and the rail
   * @param why the reason that it gave
   */
  record FailedPath(String rail, String why) {}

  /** Adds up one rail. */
  private static final class Sum {
    private long out;
    private long in;
    private long newOut;
    private long newIn;
    private LatencyCounts latency = LatencyCounts.EMPTY;
    private boolean anyUp;
    private String blamed = "";
  }

  /**
   * Looks once.
   *
   * @param rails of this host
   * @param peers with their links
   * @param now {@code System.nanoTime()}
   */
  Sample look(List<Rail> rails, List<PeerLink> peers, long now) {
    Sample present = last;
    if (present != null && now - beforeAt < SHORTEST_NANOS) {
      return present;
    }
    // A first look has nothing to compare with.
    double seconds = present == null ? Double.POSITIVE_INFINITY : (now - beforeAt) / 1e9;
    Map<String, Sum> sums = new LinkedHashMap<>();
    rails.forEach(rail -> sums.put(rail.toString(), new Sum()));
    List<PeerLoad> loads = new ArrayList<>();
    Map<PathId, PathReport> seen = new HashMap<>();
    for (PeerLink peer : peers) {
      loads.add(add(peer, sums, seen, seconds));
    }
    Sample sample = new Sample(
        sums.entrySet().stream().map(entry -> load(entry.getKey(), entry.getValue(), seconds)).toList(), loads);
    before = seen;
    beforeAt = now;
    last = sample;
    return sample;
  }

  private PeerLoad add(PeerLink peer, Map<String, Sum> sums, Map<PathId, PathReport> seen, double seconds) {
    boolean reached = peer.paths().stream().anyMatch(PathReport::up);
    long moved = 0;
    Set<FailedPath> failed = new LinkedHashSet<>();
    for (PathReport path : peer.paths()) {
      PathId id = new PathId(peer.link(), path.path());
      seen.put(id, path);
      PathReport old = before.get(id);
      String rail = path.transport() + ":" + path.rail();
      Sum sum = sums.computeIfAbsent(rail, name -> new Sum());
      sum.out += path.bytesWritten();
      sum.in += path.bytesRead();
      sum.newOut += path.bytesWritten() - (old == null ? 0 : old.bytesWritten());
      sum.newIn += path.bytesRead() - (old == null ? 0 : old.bytesRead());
      sum.latency = sum.latency.plus(old == null ? path.latency() : path.latency().since(old.latency()));
      moved += path.bytesAcknowledged() - (old == null ? 0 : old.bytesAcknowledged());
      sum.anyUp |= path.up();
      if (!path.up() && !path.lastFault().isEmpty() && peer.state() != Link.State.CLOSED) {
        failed.add(new FailedPath(rail, path.lastFault()));
        sum.blamed = reached ? path.lastFault() : sum.blamed;
      }
    }
    return new PeerLoad(peer.name(), gbits(moved, seconds), List.copyOf(failed));
  }

  private static RailLoad load(String name, Sum sum, double seconds) {
    boolean down = !sum.anyUp && !sum.blamed.isEmpty();
    return new RailLoad(name, !down, down ? sum.blamed : "", sum.out, sum.in, gbits(sum.newOut, seconds),
        gbits(sum.newIn, seconds), sum.latency);
  }

  private static double gbits(long bytes, double seconds) {
    return bytes * 8e-9 / seconds;
  }
}
