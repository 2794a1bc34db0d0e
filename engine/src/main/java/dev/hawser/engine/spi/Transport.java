/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import dev.hawser.memory.RegionBinder;
import java.util.List;

/**
 * A kind of rail: tcp, shm, verbs, gpu-ipc. Found through {@link java.util.ServiceLoader}
 * ({@link TransportProvider}); nothing outside a transport's package names it.
 *
 * <p>A transport neither listens nor authenticates: the engine's bootstrap connects two agents,
 * carries one offer and one answer, and hands both ends their socket. What comes out is a
 * {@link Connection} on each side, one generation of one path.
 *
 * <p>Methods are called from several bootstrap threads at once and must be thread-safe.
 */
public interface Transport extends AutoCloseable {

  /** The name users see: {@code tcp}, {@code shm}, {@code verbs}, {@code gpu-ipc}. */
  String name();

  TransportTraits traits();

  /** Makes this transport's keys for registered memory; the engine adds it to the registry. */
  RegionBinder binder();

  /**
   * Says where in a {@link dev.hawser.memory.Registration} the {@link #binder()}'s keys are found. Called once, before
   * any path.
   *
   * @param binderIndex what {@link dev.hawser.memory.MemoryRegistry#addBinder} returned
   */
  default void bound(int binderIndex) {}

  /** The rails of this host, in order of preference; at least one, or the transport is absent. */
  List<Rail> rails();

  /**
   * Why nothing goes through it now, though it may later, as when no cable is in: one line that a user can act on; empty if
   * something can. Peers are told of it all the same, and its paths are tried again and again.
   */
  default String outage() {
    return "";
  }

  /**
   * What a peer needs to judge whether it can reach us (host identity, namespaces, GIDs, addresses
   * by rail): published in the agent's metadata, opaque to everyone else, at most 4 KiB.
   */
  byte[] description();

  /** Judges from a peer's {@link #description()} whether it can be reached from here, and why not. */
  Reachability reach(byte[] peerDescription);

  /**
   * Initiator's half of a new path generation. May take time; runs on a bootstrap thread.
   *
   * @param route from which rail here to which rail there, one of those that {@link #reach} gave
   * @param peer the target's name, for messages
   * @throws PathSetupException if this side cannot offer a path, with the reason
   */
  PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription);

  /**
   * Target's half. Validates the peer's offer and prepares the answer.
   *
   * @param rail the rail of this host that the initiator's route leads to, by name
   * @param peer the initiator's name, for messages
   * @throws PathSetupException if the offer is refused; the message travels to the initiator
   */
  PathSetup accept(String rail, String peer, PathKey key, byte[] offer);

  /** Releases what the transport itself holds. All its connections are closed before. */
  @Override
  void close();
}
