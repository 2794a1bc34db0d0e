/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegistryListener;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A transport between the processes of one host: who can be reached, how paths are made, and that regions which close are
 * asked back. What moves the bytes, and which memory can be lent, is each one's own.
 */
public abstract class MappedTransport implements Transport, PathMaker {
  private static final int MAX_DESCRIPTION_BYTES = 4096;

  private final String name;
  private final int preference;
  private final Host host;
  private final MemoryRegistry registry;
  private final Populator populator = new Populator();
  private final List<Rail> rails;
  private final Set<TargetConnection> targets = ConcurrentHashMap.newKeySet();
  private final RegistryListener listener =
      new RegistryListener() {
        @Override
        public void removed(Region region) {
          targets.forEach(TargetConnection::regionClosing);
        }
      };

  /**
   * A transport with one rail of its name.
   *
   * @param preference against other transports that reach the same peer
   */
  protected MappedTransport(String name, int preference, Host host, MemoryRegistry registry) {
    this.name = name;
    this.preference = preference;
    this.host = host;
    this.registry = registry;
    this.rails = List.of(new Rail(name, name, 0, 0));
    registry.addListener(listener);
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final List<Rail> rails() {
    return rails;
  }

  @Override
  public final byte[] description() {
    ByteBuffer to = ProcessIdentity.littleEndian(new byte[MAX_DESCRIPTION_BYTES]);
    host.self().encode(to);
    return ProcessIdentity.toBytes(to);
  }

  @Override
  public final Reachability reach(byte[] peerDescription) {
    ProcessIdentity peer;
    try {
      peer = ProcessIdentity.decode(ProcessIdentity.littleEndian(peerDescription));
    } catch (PathSetupException e) {
      return new Reachability.Unreachable(
          Objects.requireNonNullElse(e.getMessage(), "the peer's description is damaged"));
    }
    String obstacle = host.obstacle(peer);
    return obstacle.isEmpty()
        ? new Reachability.Reachable(preference, List.of(new Reachability.Route(rails.getFirst(), name)))
        : new Reachability.Unreachable(obstacle);
  }

  @Override
  public final PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription) {
    if (reach(peerDescription) instanceof Reachability.Unreachable(String reason)) {
      throw new PathSetupException(reason);
    }
    return new InitiatorSetup(this, key);
  }

  @Override
  public final PathSetup accept(String rail, String peer, PathKey key, byte[] offer) {
    return TargetSetup.accept(this, key, PathOffer.decode(offer));
  }

  // ------------------------------------------------------------------------------------------ for the set-ups

  @Override
  public final Host host() {
    return host;
  }

  /** The initiator's end, with what moves its bytes. */
  protected final Connection initiator(PathEnds ends, Function<PeerRegions, Mover> mover) {
    return new InitiatorConnection(ends, host.proc(), populator, mover);
  }

  @Override
  public final Connection target(PathEnds ends) {
    TargetConnection connection = new TargetConnection(ends, registry, this::refusal, targetMover(), targets::remove);
    targets.add(connection);
    return connection;
  }

  /** What a target's end moves by itself: nothing, unless a transport says so. */
  protected TargetMover targetMover() {
    return TargetMover.NONE;
  }

  /** Why a region cannot be lent; null if it can. */
  protected abstract @Nullable Refusal refusal(Region region);

  @Override
  public void close() {
    registry.removeListener(listener);
  }
}
