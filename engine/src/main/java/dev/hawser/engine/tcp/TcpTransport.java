/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.Registration;
import java.util.List;

/** The transport; it holds nothing but what it found at start. */
final class TcpTransport implements Transport {
  static final String NAME = "tcp";

  private static final int MOST_CHUNK_BYTES = 1 << 20;
  private static final int PATHS = 2;

  private static final RegionBinder BINDER =
      new RegionBinder() {
        @Override
        public String transport() {
          return NAME;
        }

        @Override
        public RegionKeys bind(Registration registration) {
          return RegionKeys.NONE; // that of a device goes through pinned memory of the host
        }

        @Override
        public void unbind(Registration registration, RegionKeys keys) {}
      };

  private final MemoryRegistry registry;
  private final Staging staging;
  private final LostMemory lostMemory;
  private final TcpSettings settings;
  private final TcpRails rails;
  private final TransportTraits traits;

  TcpTransport(MemoryRegistry registry, TcpSettings settings, TcpRails rails) {
    this.registry = registry;
    this.staging = new Staging(registry);
    this.lostMemory = new LostMemory(registry);
    this.settings = settings;
    this.rails = rails;
    this.traits =
        new TransportTraits(
            false, false, FrameLayout.MAX_MESSAGE_BYTES, Long.SIZE, MOST_CHUNK_BYTES, PATHS,
            settings.stagedChunkBytes());
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public TransportTraits traits() {
    return traits;
  }

  @Override
  public RegionBinder binder() {
    return BINDER;
  }

  @Override
  public List<Rail> rails() {
    return rails.rails();
  }

  @Override
  public byte[] description() {
    return rails.description().encode();
  }

  @Override
  public Reachability reach(byte[] peerDescription) {
    try {
      return rails.reach(TcpDescription.decode(peerDescription));
    } catch (IllegalArgumentException e) {
      return new Reachability.Unreachable("tcp: what the peer published cannot be read: " + e.getMessage());
    }
  }

  @Override
  public PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription) {
    return new InitiatorSetup(route, key);
  }

  @Override
  public PathSetup accept(String rail, String peer, PathKey key, byte[] offer) {
    return new TargetSetup(key, TcpOffer.check(offer));
  }

  @Override
  public void close() {}

  private final class InitiatorSetup implements PathSetup {
    private final Reachability.Route route;
    private final PathKey key;

    InitiatorSetup(Reachability.Route route, PathKey key) {
      this.route = route;
      this.key = key;
    }

    @Override
    public byte[] message() {
      return TcpOffer.OURS.encode();
    }

    @Override
    public Dial dial(List<String> targetAddresses) {
      String remoteRail = route.remote();
      List<String> there =
          targetAddresses.stream().filter(each -> InetEndpoint.parse(each).host().equals(remoteRail)).toList();
      if (there.isEmpty()) {
        throw new PathSetupException(
            "tcp: the peer does not listen on " + remoteRail + " any more, only on " + targetAddresses);
      }
      return new Dial(there, TcpRails.canReach(route.local().name(), remoteRail) ? route.local().name() : "");
    }

    @Override
    public Connection connect(byte[] peerMessage, BootstrapStream stream) {
      TcpOffer peer = TcpOffer.check(peerMessage);
      settings.apply(stream.fd());
      String own = route.local().name();
      return new InitiatorConnection(
          key,
          stream,
          new PathStaging(staging),
          peer.withdraws(),
          TcpRails.canReach(own, route.remote()) ? TcpRails.device(own) : null);
    }

    @Override
    public void close() {}
  }

  private final class TargetSetup implements PathSetup {
    private final PathKey key;
    private final TcpOffer peer;

    TargetSetup(PathKey key, TcpOffer peer) {
      this.key = key;
      this.peer = peer;
    }

    @Override
    public byte[] message() {
      return TcpOffer.OURS.encode();
    }

    @Override
    public Connection connect(byte[] peerMessage, BootstrapStream stream) {
      settings.apply(stream.fd());
      return new TargetConnection(key, stream, registry, new PathStaging(staging), lostMemory, peer.withdraws());
    }

    @Override
    public void close() {}
  }
}
