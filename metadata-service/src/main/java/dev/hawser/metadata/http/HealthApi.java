/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Whether the process serves, and whether it should be sent work. */
final class HealthApi {
  private final Store store;
  private final BooleanSupplier draining;

  HealthApi(Store store, BooleanSupplier draining) {
    this.store = store;
    this.draining = draining;
  }

  List<Route> routes() {
    return List.of(Route.get("/health/live", Access.OPEN, this::live),
        Route.get("/health/ready", Access.OPEN, this::ready));
  }

  private Future<Void> live(Exchange exchange, Buffer body) {
    up(exchange);
    return Future.succeededFuture();
  }

  private Future<Void> ready(Exchange exchange, Buffer body) {
    if (draining.getAsBoolean()) {
      throw Front.shuttingDown().exception();
    }
    return store.ready().compose(ready -> Handler.done(() -> up(exchange)));
  }

  private static void up(Exchange exchange) {
    exchange.answer(
        200,
        Names.JSON,
        JsonOutput.write(
            json -> {
              json.writeStartObject();
              json.writeStringField("status", "up");
              json.writeEndObject();
            }));
  }
}
