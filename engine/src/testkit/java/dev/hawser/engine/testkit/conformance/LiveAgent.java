/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.Engine;
import dev.hawser.engine.PeerDescription;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;

/** A real engine with its registry and what it is told. */
final class LiveAgent implements AutoCloseable {
  private final AgentSetup setup;
  private final MemoryRegistry registry;
  private final boolean ownsRegistry;
  private final Inbox inbox = new Inbox();
  private final Engine engine;

  private LiveAgent(AgentSetup setup, MemoryRegistry registry, boolean ownsRegistry) {
    this.setup = setup;
    this.registry = registry;
    this.ownsRegistry = ownsRegistry;
    this.engine = Engine.start(setup.config(), registry, inbox);
  }

  static LiveAgent start(AgentSetup setup) {
    // Exact ranges: what a peer may reach ends where its region ends, also where hardware checks it.
    return new LiveAgent(setup, setup.fixture().registry().exactRanges(true).build(), true);
  }

  /** Over a registry that outlives it. */
  static LiveAgent start(AgentSetup setup, MemoryRegistry registry) {
    return new LiveAgent(setup, registry, false);
  }

  String name() {
    return engine.name();
  }

  AgentSetup setup() {
    return setup;
  }

  Engine engine() {
    return engine;
  }

  MemoryRegistry registry() {
    return registry;
  }

  Inbox inbox() {
    return inbox;
  }

  PeerDescription description() {
    return new PeerDescription(
        engine.name(), engine.epoch(), engine.listenAddresses(), engine.transportDescriptions());
  }

  Memory memory(long bytes, Access access) {
    return new Memory(setup.fixture(), registry, bytes, access);
  }

  @Override
  public void close() {
    engine.close();
    if (ownsRegistry) {
      registry.close(Waits.PATIENCE);
    }
    inbox.check();
  }
}
