/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The HTTP server: {@code POST /v1/completions} and {@code /v1/chat/completions} in two phases, {@code GET /health},
 * {@code /metrics} and {@code /v1/models}. One event loop serves it: it only passes bytes on.
 */
final class Proxy implements AutoCloseable {
  private static final int CONNECTIONS_PER_ENGINE = 1024;
  private static final int DRAIN_LOOK_MILLIS = 20;
  private static final int CLOSE_MILLIS = 1000;

  private final ProxyConfig config;
  private final Vertx vertx;
  private final HttpServer server;
  private final Engines engines;
  private final Counters counters = new Counters();
  private final EngineClient client;
  private final AtomicInteger inFlight = new AtomicInteger();
  private final HealthChecks health;
  private volatile boolean draining;

  private Proxy(ProxyConfig config, Vertx vertx) {
    this.config = config;
    this.vertx = vertx;
    this.engines = new Engines(config);
    HttpClient http = vertx.createHttpClient(
        new HttpClientOptions().setKeepAlive(true).setReadIdleTimeout((int) config.idleTimeout().toSeconds()),
        new PoolOptions().setHttp1MaxSize(CONNECTIONS_PER_ENGINE));
    this.client = new EngineClient(http, config);
    this.server = vertx.createHttpServer(new HttpServerOptions().setHost(config.host()).setPort(config.port()))
        .requestHandler(this::handle);
    this.health = new HealthChecks(http, engines);
    health.start(vertx, config.healthInterval());
  }

  /**
   * Starts it.
   *
   * @throws ProxyException if it cannot listen
   */
  static Proxy start(ProxyConfig config) {
    Vertx vertx = Vertx.vertx();
    Proxy proxy = new Proxy(config, vertx);
    try {
      await(proxy.server.listen(), 10_000);
      return proxy;
    } catch (ProxyException e) {
      vertx.close();
      throw ProxyException.retriable(500, "cannot listen at " + config.host() + ':' + config.port() + ": "
          + e.getMessage(), e);
    }
  }

  int port() {
    return server.actualPort();
  }

  private void handle(HttpServerRequest request) {
    if (draining) {
      request.response().putHeader("connection", "close");
    }
    String asked = request.path();
    String path = asked == null ? "" : asked;
    if (HttpMethod.POST.equals(request.method())
        && (path.equals("/v1/completions") || path.equals("/v1/chat/completions"))) {
      complete(request, path);
    } else if (!HttpMethod.GET.equals(request.method())) {
      Answers.error(request.response(), 404, "there is no " + request.method() + ' ' + path + " here");
    } else {
      switch (path) {
        case "/health" -> health(request);
        case "/metrics" -> request.response().putHeader("content-type", "text/plain; version=0.0.4")
            .end(counters.text(engines, inFlight.get()));
        case "/v1/models" -> models(request);
        default -> Answers.error(request.response(), 404, "there is no " + path + " here");
      }
    }
  }

  private void complete(HttpServerRequest request, String path) {
    inFlight.incrementAndGet();
    counters.request();
    String given = request.getHeader("x-request-id");
    String salt = UUID.randomUUID().toString().substring(0, 8);
    String requestId = given == null || given.isBlank() || given.length() > 128 ? "cmpl-" + UUID.randomUUID() : given;
    BodyReader.read(request, config.maxBodyBytes())
        .compose(
            body -> new Exchange(vertx, config, engines, client, counters, request, path, requestId, salt, body).run())
        .recover(e -> {
          counters.failed();
          int status = e instanceof ProxyException known ? known.status() : 500;
          return Answers.error(request.response(), status, String.valueOf(e.getMessage()));
        })
        .onComplete(_ -> inFlight.decrementAndGet());
  }

  private void health(HttpServerRequest request) {
    boolean able = engines.anyUp(Role.PREFILL) && engines.anyUp(Role.DECODE);
    JsonArray told = new JsonArray();
    for (Engine engine : engines.all()) {
      told.add(new JsonObject().put("role", engine.role().name()).put("engine", engine.uri().toString())
          .put("up", engine.up()).put("in_flight", engine.inFlight()));
    }
    String status = draining ? "draining" : able ? "ok" : "no engine";
    Answers.json(request.response(), able && !draining ? 200 : 503,
        new JsonObject().put("status", status).put("engines", told));
  }

  private void models(HttpServerRequest request) {
    Engine engine = engines.choose(Role.DECODE, Set.of());
    client.get(engine, "/v1/models").onSuccess(body -> request.response()
        .putHeader("content-type", "application/json").end(body))
        .onFailure(e -> Answers.error(request.response(), 502, engine + " does not answer: " + e.getMessage()));
  }

  /**
   * Stops without losing a request: health says so at once, requests are still taken for a while, then no connection is,
   * and those that are here are served to their end.
   *
   * @return whether all were, within the time
   */
  boolean drain() {
    draining = true;
    Promise<Void> delay = Promise.promise();
    vertx.setTimer(Math.max(1, config.drainDelay().toMillis()), _ -> delay.complete());
    long patience = config.drainTimeout().toMillis();
    boolean all = true;
    try {
      await(delay.future().compose(_ -> {
        // It would close the connections of those that are not served in time: by then it is known that some were not.
        Future<Void> closed = server.shutdown(patience + CLOSE_MILLIS, TimeUnit.MILLISECONDS);
        return idle().timeout(patience, TimeUnit.MILLISECONDS).compose(_ -> closed);
      }), config.drainDelay().toMillis() + patience + 2 * CLOSE_MILLIS);
    } catch (ProxyException e) {
      all = inFlight.get() == 0;
    }
    close();
    return all;
  }

  private Future<Void> idle() {
    Promise<Void> idle = Promise.promise();
    vertx.setPeriodic(DRAIN_LOOK_MILLIS, timer -> {
      if (inFlight.get() == 0) {
        vertx.cancelTimer(timer);
        idle.tryComplete();
      }
    });
    return idle.future();
  }

  @Override
  public void close() {
    health.stop();
    await(vertx.close(), 10_000);
  }

  private static void await(Future<?> future, long millis) {
    try {
      future.toCompletionStage().toCompletableFuture().get(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ProxyException.retriable(500, "interrupted", e);
    } catch (ExecutionException | TimeoutException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw ProxyException.retriable(500, String.valueOf(cause.getMessage()), cause);
    }
  }
}
