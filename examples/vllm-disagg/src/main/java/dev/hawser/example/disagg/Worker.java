/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Peer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Access;
import java.time.Duration;

/** What the workers of both kinds have in common: an agent, and a pool that the other worker can reach. */
abstract class Worker implements AutoCloseable {
  /** Under which name a worker's pool is found. */
  static final String POOL = "kv";

  /** How long a worker waits for the other before it gives up. */
  static final Duration DEADLINE = Duration.ofSeconds(60);

  private final Agent agent;
  private final PagedPool pool;

  /**
   * Starts the agent, and registers the pool with it.
   *
   * @param access what the other worker may do with the pool: no more than it needs
   */
  Worker(HawserConfig config, PoolLayout layout, long seed, Access access) {
    agent = Agent.builder(config).start();
    try {
      pool = new PagedPool(config.name(), layout, agent.allocate(POOL, layout.bytes(), access).segment(), seed);
    } catch (RuntimeException e) {
      agent.close();
      throw e;
    }
  }

  final Agent agent() {
    return agent;
  }

  final PagedPool pool() {
    return pool;
  }

  /** The other worker, as the metadata service knows it. */
  final Peer meet(String name) {
    return connected(agent.peer(name, DEADLINE));
  }

  /** The other worker, by metadata that somebody carried here. */
  final Peer meet(byte[] metadata) {
    return connected(agent.addPeer(metadata));
  }

  /** The first transfer would connect as well; here it is not to be measured. */
  private static Peer connected(Peer peer) {
    peer.awaitConnected(DEADLINE);
    return peer;
  }

  @Override
  public void close() {
    agent.close();
  }
}
