/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.PortReport;
import dev.hawser.engine.worker.WorkerEngine;
import dev.hawser.memory.MemoryRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The transfer engine of one agent: its workers, transports, bootstrap and links. Thread-safe.
 *
 * <p>An engine owns its threads and sockets until {@link #close}; the registry stays the caller's
 * and must outlive it.
 */
public interface Engine extends AutoCloseable {

  /**
   * Who answers at an address.
   *
   * @param name the agent's name
   * @param epoch its incarnation
   * @param host its host name
   * @param pid its process
   */
  record Identity(String name, long epoch, String host, long pid) {}

  String name();

  long epoch();

  /** Where the bootstrap listens, numeric {@code host:port}, with the ports really taken. */
  List<String> listenAddresses();

  /** What this host has to send and receive over, in order of preference within each transport. */
  List<Rail> rails();

  /** By transport name, what to publish so that peers can judge whether they reach us. */
  Map<String, byte[]> transportDescriptions();

  /** By transport name, why it is not here, or why nothing goes through it now, though it may later. */
  Map<String, String> absentTransports();

  /**
   * The link to one incarnation of a peer, made on first use; connects in the background. A newer
   * epoch replaces the older link, whose transfers fail with PEER_RESTARTED; an older one is
   * refused.
   *
   * @throws LinkException if the description is older than a known epoch, names this very engine's
   *     superseded incarnation, or no transport is common to both, with each one's reason
   */
  Link connect(PeerDescription peer);

  /** Closes the link to a peer, if there is one. */
  void disconnect(String peer);

  /** What the operating system counts at the ports of its rails. Reads files: not on a path where time matters. */
  List<PortReport> ports();

  /** What flows to every peer now, path by path. Any thread; waits for nothing. */
  List<FlowReport> flows();

  /**
   * Asks who answers at an address.
   *
   * @param address numeric {@code host:port}
   * @return empty if nobody answers within the time; a nameless identity if an agent answers that will not say who it is,
   *     because the secrets differ
   */
  Optional<Identity> probe(String address, Duration timeout);

  /**
   * Ends a peer's inbound session, fences it completely and only then returns: write grants are
   * revoked this way. The peer's transfers under way end as SESSION_ENDED there.
   *
   * @return false if the fence was not complete in time: its memory must not be reused yet
   */
  boolean revoke(String peer, String reason, Duration timeout);

  /** Moves work on this thread if no worker is at it; returns how much was done. Never blocks. */
  int poll();

  /**
   * Waits until the condition holds, helping on this thread where possible. The condition is
   * evaluated after each bit of work and must be cheap.
   *
   * @return the condition's last value
   */
  boolean await(BooleanSupplier condition, Duration timeout);

  /** Ends every link and session, settles local memory, stops the threads. Idempotent. */
  @Override
  void close();

  /**
   * Starts an engine.
   *
   * @throws EngineException if an address cannot be listened on, a setting is wrong, or no transport
   *     works here
   */
  static Engine start(EngineConfig config, MemoryRegistry registry, InboundHandler inbound) {
    return WorkerEngine.start(config, registry, inbound);
  }
}
