/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.RegionBinder;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/** RDMA over reliable connected queue pairs. */
final class VerbsTransport implements Transport {
  static final String NAME = "verbs";

  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");

  /** Below shared memory, above tcp. */
  private static final int PREFERENCE = 500;

  private static final int FLUSH_BITS = 31;
  private static final TransportTraits TRAITS =
      new TransportTraits(false, false, SharedReceiveQueue.SLOT_BYTES, FLUSH_BITS, 1 << 20, 2, 0);

  private final MemoryRegistry registry;
  private final Staging staging;
  private final List<VerbsDevice> devices;
  private final List<VerbsRail> rails;
  private final VerbsBinder binder;
  private final AsyncEvents events;
  private final Teardown teardown;
  private volatile int binderIndex = -1;

  VerbsTransport(MemoryRegistry registry, List<VerbsDevice> devices, List<VerbsRail> rails, VerbsBinder binder,
      AsyncEvents events, Teardown teardown) {
    this.registry = registry;
    this.staging = new Staging(registry);
    this.devices = List.copyOf(devices);
    this.rails = List.copyOf(rails);
    this.binder = binder;
    this.events = events;
    this.teardown = teardown;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public TransportTraits traits() {
    return TRAITS;
  }

  @Override
  public RegionBinder binder() {
    return binder;
  }

  @Override
  public void bound(int index) {
    binderIndex = index;
  }

  @Override
  public List<Rail> rails() {
    return rails.stream().map(VerbsRail::rail).toList();
  }

  @Override
  public String outage() {
    return rails.stream().anyMatch(rail -> rail.attributes().active())
        ? ""
        : "verbs: no port is active now: " + String.join("; ", rails.stream().map(VerbsRail::whyDown).toList());
  }

  @Override
  public byte[] description() {
    return new VerbsDescription(rails.stream().map(VerbsRail::entry).toList()).encode();
  }

  /** Each rail of the peer from the rail here of the same name, else of the same place in the list; none is left out. */
  @Override
  public Reachability reach(byte[] peerDescription) {
    VerbsDescription peer;
    try {
      peer = VerbsDescription.decode(peerDescription);
    } catch (IllegalArgumentException e) {
      return new Reachability.Unreachable("verbs: what the peer published cannot be read: " + e.getMessage());
    }
    List<Reachability.Route> routes = new ArrayList<>();
    List<String> obstacles = new ArrayList<>();
    int turns = Math.max(rails.size(), peer.rails().size());
    for (int i = 0; i < turns && !rails.isEmpty() && !peer.rails().isEmpty(); i++) {
      VerbsDescription.Entry there = peer.rails().get(i % peer.rails().size());
      VerbsRail here = i < peer.rails().size() ? partner(there.name(), i) : rails.get(i);
      String obstacle = here.entry().obstacle(there);
      if (obstacle.isEmpty()) {
        routes.add(new Reachability.Route(here.rail(), there.name()));
      } else {
        obstacles.add(obstacle);
      }
    }
    return routes.isEmpty()
        ? new Reachability.Unreachable(
            "verbs: " + (obstacles.isEmpty() ? "the peer has no rail" : String.join("; ", obstacles)))
        : new Reachability.Reachable(PREFERENCE, routes);
  }

  private VerbsRail partner(String name, int place) {
    for (VerbsRail rail : rails) {
      if (rail.rail().name().equals(name)) {
        return rail;
      }
    }
    return rails.get(place % rails.size());
  }

  @Override
  public PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription) {
    return VerbsSetup.initiate(this, key, peer, rail(route.local().name()));
  }

  @Override
  public PathSetup accept(String rail, String peer, PathKey key, byte[] offer) {
    return VerbsSetup.accept(this, key, peer, rail(rail), QpCard.decode(offer));
  }

  private VerbsRail rail(String name) {
    for (VerbsRail rail : rails) {
      if (rail.rail().name().equals(name)) {
        return rail;
      }
    }
    throw new PathSetupException("verbs: there is no rail " + name);
  }

  VerbsConnection connection(
      PathKey key, boolean initiator, String peer, VerbsRail rail, QueuePair pair, QpCard card,
      BootstrapStream stream) {
    return new VerbsConnection(
        key, initiator, peer, rail, pair, card, stream, events, teardown, binderIndex, devices.indexOf(rail.device()),
        registry, staging);
  }

  @Override
  public void close() {
    teardown.close();
    events.close();
    rails.forEach(VerbsTransport::close);
    devices.forEach(VerbsTransport::close);
  }

  /** What a driver does not give back stays until the process ends; the others are given back all the same. */
  private static void close(AutoCloseable what) {
    try {
      what.close();
    } catch (Exception e) {
      LOG.log(Level.WARNING, "verbs: " + e.getMessage(), e);
    }
  }
}
