/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.agent.fake.FakeEngine;
import dev.hawser.agent.fake.FakeNetwork;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Agents on a fake network, closed together. */
final class Agents implements AutoCloseable {
  static final Duration LONG = Duration.ofSeconds(20);

  final FakeNetwork network = new FakeNetwork();
  private final List<Agent> open = new ArrayList<>();

  Agent start(String name) {
    return start(name, UnaryOperator.identity());
  }

  Agent start(String name, UnaryOperator<HawserConfig.Builder> settings) {
    return start(name, settings, UnaryOperator.identity());
  }

  Agent start(String name, UnaryOperator<HawserConfig.Builder> settings, UnaryOperator<Agent.Builder> options) {
    HawserConfig config = settings.apply(HawserConfig.builder().environment(Map.of()).name(name)).build();
    Agent agent = options.apply(Agent.builder(config).engine(network::start)).start();
    open.add(agent);
    return agent;
  }

  static UnaryOperator<HawserConfig.Builder> secret(String secret) {
    return builder -> builder.secret(Secret.of(secret));
  }

  /** Adds each one's full blob to the other; gives the second as the first sees it. */
  static Peer introduce(Agent first, Agent second) {
    second.addPeer(first.metadata());
    return first.addPeer(second.metadata());
  }

  FakeEngine engine(Agent agent) {
    return network.engine(agent.name());
  }

  /** Ends an agent the way a killed process does: nobody is told. */
  void kill(Agent agent) {
    network.kill(engine(agent));
  }

  /** Fills memory with bytes that depend on position and seed. */
  static void fill(Region region, int seed) {
    for (long i = 0; i < region.length(); i++) {
      region.segment().set(ValueLayout.JAVA_BYTE, i, pattern(i, seed));
    }
  }

  static byte pattern(long position, int seed) {
    long mixed = (position + 1) * 0x9E3779B97F4A7C15L + seed * 0xD1B54A32D192ED03L;
    return (byte) (mixed >>> 56 ^ mixed >>> 24);
  }

  static byte at(Region region, long offset) {
    return region.segment().get(ValueLayout.JAVA_BYTE, offset);
  }

  static BlockList block(Region region, long offset, long length) {
    return BlockList.of(region.address() + offset, length);
  }

  @Override
  public void close() {
    open.reversed().forEach(Agent::close);
  }
}
