/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.List;

/** Prometheus metrics. */
final class MetricsApi {
  private static final String TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final Metrics metrics;

  MetricsApi(Metrics metrics) {
    this.metrics = metrics;
  }

  List<Route> routes() {
    return List.of(Route.get("/metrics", Access.READ, this::scrape));
  }

  private Future<Void> scrape(Exchange exchange, Buffer body) {
    exchange.answer(200, TYPE, Buffer.buffer(metrics.scrape()));
    return Future.succeededFuture();
  }
}
