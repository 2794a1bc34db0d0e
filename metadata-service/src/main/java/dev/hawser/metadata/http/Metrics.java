/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.http.RequestStats.RouteStats;
import dev.hawser.metadata.store.Store;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What Prometheus scrapes. The registry is made by the first scrape, so that a service that nobody scrapes starts
 * without it; it reads counters that are kept anyway. Safe for use by any thread.
 */
final class Metrics {
  private final FrontState state;
  private final Store store;
  private final ReentrantLock lock = new ReentrantLock();
  private final Set<String> registered = new HashSet<>();
  private @Nullable PrometheusMeterRegistry registry;

  Metrics(FrontState state, Store store) {
    this.state = state;
    this.store = store;
  }

  /** The Prometheus text format. */
  String scrape() {
    lock.lock();
    try {
      PrometheusMeterRegistry to = registry;
      if (to == null) {
        to = create();
        registry = to;
      }
      for (Map.Entry<String, RouteStats> route : state.stats().all().entrySet()) {
        if (registered.add(route.getKey())) {
          register(to, route.getKey(), route.getValue());
        }
      }
      return to.scrape();
    } finally {
      lock.unlock();
    }
  }

  private PrometheusMeterRegistry create() {
    PrometheusMeterRegistry to = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Gauge.builder("hawser.metadata.agents", store, Store::size).description("Entries that are present").register(to);
    Gauge.builder("hawser.metadata.revision", store, from -> from.events().lastRevision())
        .description("Revision of the last change")
        .register(to);
    Gauge.builder("hawser.metadata.connections", state, from -> from.connections().get())
        .description("Open connections")
        .register(to);
    Gauge.builder("hawser.metadata.watchers", state, from -> from.watchers().get())
        .description("Open watches")
        .register(to);
    FunctionCounter.builder("hawser.metadata.watch.resets", state, from -> from.watchResets().sum())
        .description("Watches that were told to list again")
        .register(to);
    new JvmMemoryMetrics().bindTo(to);
    new JvmThreadMetrics().bindTo(to);
    new ProcessorMetrics().bindTo(to);
    return to;
  }

  private static void register(PrometheusMeterRegistry to, String operation, RouteStats stats) {
    for (int i = 0; i < RequestStats.CLASSES.size(); i++) {
      int statusClass = i;
      FunctionCounter.builder("hawser.metadata.requests", stats, from -> from.count(statusClass))
          .tag("operation", operation)
          .tag("status", RequestStats.CLASSES.get(i))
          .description("Requests that were answered")
          .register(to);
    }
    FunctionTimer.builder(
        "hawser.metadata.request.duration", stats, RouteStats::count, RouteStats::nanos, TimeUnit.NANOSECONDS)
        .tag("operation", operation)
        .description("From a request's head to the end of its answer")
        .register(to);
  }
}
