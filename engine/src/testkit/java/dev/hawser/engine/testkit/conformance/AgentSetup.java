/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.EngineConfig;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** How an engine of the suite is set up. */
record AgentSetup(
    Fixture fixture,
    String name,
    long epoch,
    List<String> listen,
    Duration lease,
    int credits,
    String secret,
    int pathsPerRoute,
    List<String> rails) {
  private static final AtomicLong NUMBER = new AtomicLong();
  private static final AtomicLong EPOCH = new AtomicLong(System.currentTimeMillis() * 1000);
  private static final int CREDITS = 1024;

  /** How long a silent peer counts as alive, where that is tried. */
  static final Duration SHORT_LEASE = SuiteProperties.times(1);

  /** Long enough for a machine that is much too busy. */
  private static final Duration LEASE = Duration.ofSeconds(8);

  static final Duration DRAIN = Duration.ofMillis(20);

  /** An agent of a name that no other has. */
  static AgentSetup of(Fixture fixture, String role) {
    return named(fixture, role + "-" + ProcessHandle.current().pid() + "-" + NUMBER.incrementAndGet());
  }

  static AgentSetup named(Fixture fixture, String name) {
    return new AgentSetup(
        fixture,
        name,
        EPOCH.incrementAndGet(),
        fixture.listen(),
        LEASE,
        CREDITS,
        "",
        fixture.pathsPerRoute(),
        List.of());
  }

  /** The same agent, started later. */
  AgentSetup restarted(List<String> addresses) {
    return new AgentSetup(fixture, name, EPOCH.incrementAndGet(), addresses, lease, credits, secret, pathsPerRoute,
        rails);
  }

  AgentSetup lease(Duration changed) {
    return new AgentSetup(fixture, name, epoch, listen, changed, credits, secret, pathsPerRoute, rails);
  }

  AgentSetup credits(int changed) {
    return new AgentSetup(fixture, name, epoch, listen, lease, changed, secret, pathsPerRoute, rails);
  }

  AgentSetup secret(String changed) {
    return new AgentSetup(fixture, name, epoch, listen, lease, credits, changed, pathsPerRoute, rails);
  }

  AgentSetup listen(List<String> changed) {
    return new AgentSetup(fixture, name, epoch, changed, lease, credits, secret, pathsPerRoute, rails);
  }

  /** With so many paths for each route, and on these rails; none for all. */
  AgentSetup ways(int paths, List<String> names) {
    return new AgentSetup(fixture, name, epoch, listen, lease, credits, secret, paths, names);
  }

  EngineConfig config() {
    return config(List.of(fixture.transport()));
  }

  EngineConfig config(List<String> transports) {
    return new EngineConfig(
        name,
        epoch,
        listen,
        transports,
        rails,
        0,
        pathsPerRoute,
        lease,
        lease.dividedBy(4),
        Duration.ofSeconds(5),
        DRAIN,
        credits,
        secret.getBytes(StandardCharsets.UTF_8),
        fixture.tls(),
        fixture.settings());
  }
}
