/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.fake;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.PortReport;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.Registration;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** An engine that copies at once, on the thread that posts. */
public final class FakeEngine implements Engine {
  private final FakeNetwork network;
  private final EngineConfig config;
  private final MemoryRegistry registry;
  private final InboundHandler inbound;
  private final String address;
  private final Map<String, FakeLink> links = new ConcurrentHashMap<>();
  private final List<String> revoked = new ArrayList<>();
  private volatile boolean fencing = true;
  private volatile boolean closed;
  private volatile int polls;

  FakeEngine(FakeNetwork network, EngineConfig config, MemoryRegistry registry, InboundHandler inbound,
      String address) {
    this.network = network;
    this.config = config;
    this.registry = registry;
    this.inbound = inbound;
    this.address = address;
    registry.addBinder(new RegionBinder() {
      @Override
      public String transport() {
        return "fake";
      }

      @Override
      public RegionKeys bind(Registration registration) {
        return new RegionKeys(Long.toString(registration.address()).getBytes(StandardCharsets.US_ASCII), null);
      }

      @Override
      public void unbind(Registration registration, RegionKeys keys) {}
    });
  }

  /** Its settings. */
  public EngineConfig config() {
    return config;
  }

  /** Its only address. */
  public String address() {
    return address;
  }

  /** Peers whose sessions were revoked. */
  public List<String> revoked() {
    return revoked;
  }

  /** Whether fences complete in time. */
  public void fencing(boolean complete) {
    fencing = complete;
  }

  /** How often it was polled. */
  public int polls() {
    return polls;
  }

  boolean isClosed() {
    return closed;
  }

  InboundHandler inbound() {
    return inbound;
  }

  MemoryRegistry registry() {
    return registry;
  }

  FakeNetwork network() {
    return network;
  }

  @Override
  public String name() {
    return config.name();
  }

  @Override
  public long epoch() {
    return config.epoch();
  }

  @Override
  public List<String> listenAddresses() {
    return List.of(address);
  }

  @Override
  public List<Rail> rails() {
    return List.of(new Rail("fake", "fake0", 0, 0));
  }

  @Override
  public Map<String, byte[]> transportDescriptions() {
    return Map.of("fake", address.getBytes(StandardCharsets.US_ASCII));
  }

  @Override
  public List<PortReport> ports() {
    return List.of();
  }

  @Override
  public List<FlowReport> flows() {
    return List.of();
  }

  @Override
  public Map<String, String> absentTransports() {
    return Map.of("verbs", "no \"device\" here");
  }

  @Override
  public Link connect(PeerDescription peer) {
    if (!peer.transports().containsKey("fake")) {
      throw new LinkException("no transport is common with '" + peer.name() + "': fake is not there");
    }
    return links.compute(peer.name(), (name, old) -> {
      if (old != null && old.peerEpoch() == peer.epoch() && old.state() != Link.State.CLOSED) {
        return old;
      }
      if (old != null && Long.compareUnsigned(old.peerEpoch(), peer.epoch()) > 0) {
        throw new LinkException("'" + name + "' is of a newer epoch");
      }
      if (old != null) {
        old.replaced();
      }
      return new FakeLink(this, peer);
    });
  }

  @Override
  public void disconnect(String peer) {
    FakeLink link = links.remove(peer);
    if (link != null) {
      link.close();
    }
  }

  @Override
  public Optional<Identity> probe(String probed, Duration timeout) {
    FakeEngine found = network.at(probed);
    return found == null ? Optional.empty() : Optional.of(new Identity(found.name(), found.epoch(), "fakehost", 4711));
  }

  @Override
  public boolean revoke(String peer, String reason, Duration timeout) {
    revoked.add(peer);
    return fencing;
  }

  @Override
  @SuppressWarnings("NonAtomicVolatileUpdate") // a rough count is enough
  public int poll() {
    polls++;
    return 0;
  }

  @Override
  public boolean await(BooleanSupplier condition, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (!condition.getAsBoolean() && System.nanoTime() < deadline) {
      LockSupport.parkNanos(20_000);
    }
    return condition.getAsBoolean();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      network.kill(this);
      links.values().forEach(FakeLink::close);
    }
  }
}
