/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Looks at each engine's health now and then. */
final class HealthChecks {
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private final HttpClient client;
  private final Engines engines;
  private volatile boolean stopped;

  HealthChecks(HttpClient client, Engines engines) {
    this.client = client;
    this.engines = engines;
  }

  void start(Vertx vertx, Duration interval) {
    lookAtAll();
    vertx.setPeriodic(interval.toMillis(), timer -> {
      if (stopped) {
        vertx.cancelTimer(timer);
      } else {
        lookAtAll();
      }
    });
  }

  /** To be called before the client is closed. */
  void stop() {
    stopped = true;
  }

  private void lookAtAll() {
    for (Engine engine : engines.all()) {
      look(engine);
    }
  }

  private void look(Engine engine) {
    RequestOptions options =
        new RequestOptions().setMethod(HttpMethod.GET).setHost(engine.host()).setPort(engine.port())
            .setURI("/health").setConnectTimeout(TIMEOUT.toMillis());
    client.request(options)
        .compose(request -> request.send()
            .compose(response -> response.body().map(body -> told(response, body)))
            .timeout(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
            .onFailure(_ -> request.reset()))
        .onSuccess(engine::answered)
        .onFailure(_ -> engine.failed());
  }

  private static @Nullable JsonObject told(HttpClientResponse response, Buffer body) {
    if (response.statusCode() != 200) {
      throw ProxyException.of(503, "health " + response.statusCode());
    }
    try {
      return body.length() == 0 ? null : body.toJsonObject().getJsonObject("kv_transfer");
    } catch (DecodeException | ClassCastException e) {
      return null; // vLLM's own health says nothing
    }
  }
}
