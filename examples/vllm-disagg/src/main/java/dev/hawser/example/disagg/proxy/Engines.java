/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** All engines, and the choice among them: the least busy of those that are up, in turn among equals. */
final class Engines {
  private final List<Engine> all;
  private final AtomicInteger turn = new AtomicInteger();

  Engines(ProxyConfig config) {
    all = Stream.concat(config.prefill().stream().map(uri -> new Engine(uri, Role.PREFILL)),
        config.decode().stream().map(uri -> new Engine(uri, Role.DECODE))).toList();
  }

  List<Engine> all() {
    return all;
  }

  boolean anyUp(Role role) {
    return all.stream().anyMatch(engine -> engine.role() == role && engine.up());
  }

  /**
   * An engine for a request. If all that are up were tried, those that are down are: they may be back already; and if all
   * were tried, any is.
   */
  Engine choose(Role role, Set<Engine> tried) {
    List<Engine> able = new ArrayList<>(all.stream().filter(engine -> engine.role() == role).toList());
    int first = Math.floorMod(turn.getAndIncrement(), able.size());
    Collections.rotate(able, -first);
    return able.stream()
        .min(Comparator.<Engine, Boolean>comparing(tried::contains)
            .thenComparing(engine -> !engine.up())
            .thenComparingInt(Engine::inFlight))
        .orElseThrow();
  }
}
