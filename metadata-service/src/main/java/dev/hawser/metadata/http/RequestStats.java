/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Requests by route and status, counted where nobody waits. Safe for use by any thread. */
final class RequestStats {
  /** Statuses by their hundreds; what is no status counts as the service's fault. */
  static final List<String> CLASSES = List.of("2xx", "3xx", "4xx", "5xx");

  private final Map<String, RouteStats> byRoute = new ConcurrentHashMap<>();

  /** Of one route. */
  static final class RouteStats {
    private final List<LongAdder> counts = List.of(new LongAdder(), new LongAdder(), new LongAdder(), new LongAdder());
    private final LongAdder nanos = new LongAdder();

    void record(int status, long tookNanos) {
      int hundreds = status / 100 - 2;
      counts.get(hundreds < 0 || hundreds >= counts.size() ? counts.size() - 1 : hundreds).increment();
      nanos.add(tookNanos);
    }

    long count(int statusClass) {
      return counts.get(statusClass).sum();
    }

    long count() {
      return counts.stream().mapToLong(LongAdder::sum).sum();
    }

    long nanos() {
      return nanos.sum();
    }
  }

  /** Those of a route, by what its operation is called: {@code GET /v1/agents/{name}}. */
  RouteStats of(String operation) {
    return byRoute.computeIfAbsent(operation, first -> new RouteStats());
  }

  /** A view. */
  Map<String, RouteStats> all() {
    return byRoute;
  }
}
