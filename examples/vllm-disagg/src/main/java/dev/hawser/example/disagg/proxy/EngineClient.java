/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Sends a phase to an engine. */
final class EngineClient {
  private static final List<String> PASSED_ON = List.of("authorization", "traceparent", "tracestate");

  private final HttpClient client;
  private final ProxyConfig config;

  EngineClient(HttpClient client, ProxyConfig config) {
    this.client = client;
    this.config = config;
  }

  /**
   * Sends it; the response comes paused.
   *
   * @param begun gets the request as soon as there is one, so that it can be reset
   */
  Future<HttpClientResponse> send(Engine engine, String path, JsonObject body, String requestId, MultiMap headers,
      Consumer<HttpClientRequest> begun) {
    RequestOptions options =
        new RequestOptions().setMethod(HttpMethod.POST).setHost(engine.host()).setPort(engine.port())
            .setURI(path).setConnectTimeout(config.connectTimeout().toMillis())
            .setIdleTimeout(config.responseTimeout().toMillis());
    Buffer bytes = body.toBuffer();
    return client.request(options).onFailure(_ -> engine.unreachable()).compose(request -> {
      begun.accept(request);
      for (String name : PASSED_ON) {
        String value = headers.get(name);
        if (value != null) {
          request.putHeader(name, value);
        }
      }
      request.putHeader("content-type", "application/json").putHeader("x-request-id", requestId);
      return request.send(bytes).map(response -> {
        response.pause();
        return response;
      }).timeout(config.responseTimeout().toMillis(), TimeUnit.MILLISECONDS).onFailure(_ -> request.reset());
    });
  }

  /** What an engine says of itself. */
  Future<Buffer> get(Engine engine, String path) {
    RequestOptions options =
        new RequestOptions().setMethod(HttpMethod.GET).setHost(engine.host()).setPort(engine.port())
            .setURI(path).setConnectTimeout(config.connectTimeout().toMillis());
    return client.request(options).compose(HttpClientRequest::send).compose(HttpClientResponse::body)
        .timeout(config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS);
  }

  /** All of a response. */
  Future<Buffer> body(HttpClientResponse response) {
    Future<Buffer> body = response.body();
    response.resume();
    return body.timeout(config.responseTimeout().toMillis(), TimeUnit.MILLISECONDS);
  }
}
