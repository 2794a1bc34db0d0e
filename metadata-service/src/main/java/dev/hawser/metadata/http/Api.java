/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Store;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.stream.Stream;

/** Puts the API together. */
final class Api {
  private Api() {}

  /** All routes, for one event loop. */
  static Routes routes(
      Vertx vertx, Store store, HttpSettings settings, FrontState shared, WatchHub hub, MeetingHub meetings) {
    return new Routes(
        Stream.of(
            new AgentsApi(store, settings.maxBlobBytes()).routes(),
            new RenewApi(store).routes(),
            new WatchApi(store, hub, shared.watchers(), shared.watchResets(), settings.maxWatchers()).routes(),
            new MeetingApi(vertx, store, meetings).routes(),
            new HealthApi(store, shared::isDraining).routes(),
            new MetricsApi(shared.metrics(store)).routes(),
            new FilesApi().routes())
            .flatMap(List::stream)
            .toList());
  }
}
