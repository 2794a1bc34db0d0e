/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One request of a client, from its body to the last byte of the answer. As long as the client was told nothing, another
 * attempt can be made, from the prefill on and under a new transfer id.
 */
final class Exchange {
  private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

  private final Vertx vertx;
  private final ProxyConfig config;
  private final Engines engines;
  private final EngineClient client;
  private final Counters counters;
  private final HttpServerRequest request;
  private final String path;
  private final HttpServerResponse response;
  private final String requestId;
  private final String salt;
  private final JsonObject body;
  private final Set<Engine> tried = new HashSet<>();
  private int attempts;
  private boolean clientGone;
  private @Nullable Attempt attempt;

  Exchange(Vertx vertx, ProxyConfig config, Engines engines, EngineClient client, Counters counters,
      HttpServerRequest request, String path, String requestId, String salt, JsonObject body) {
    this.vertx = vertx;
    this.config = config;
    this.engines = engines;
    this.client = client;
    this.counters = counters;
    this.request = request;
    this.path = path;
    this.response = request.response();
    this.requestId = requestId;
    this.salt = salt;
    this.body = body;
  }

  /** Ends when the client has its answer, or has gone. Does not fail. */
  Future<Void> run() {
    response.exceptionHandler(_ -> gone());
    response.closeHandler(_ -> gone());
    return tryOnce().recover(this::apologize).otherwiseEmpty();
  }

  private void gone() {
    if (!response.ended() && !clientGone) {
      clientGone = true;
      counters.clientGone();
      Attempt now = attempt;
      if (now != null) {
        now.cancel();
      }
    }
  }

  private Future<Void> tryOnce() {
    attempts++;
    Engine prefill = engines.choose(Role.PREFILL, tried);
    Engine decode = engines.choose(Role.DECODE, tried);
    Attempt now = new Attempt(client, config.mode(), path, body, requestId,
        requestId + '.' + salt + '.' + attempts, request.headers(), prefill, decode);
    attempt = now;
    return now.run().compose(this::deliver).onComplete(_ -> now.end()).recover(why -> {
      now.cancel();
      tried.add(prefill);
      tried.add(decode);
      return again(why);
    });
  }

  private Future<Void> again(Throwable why) {
    boolean retriable = why instanceof ProxyException e && e.retriable();
    if (clientGone || response.headWritten() || !retriable || attempts >= config.attempts()) {
      return Future.failedFuture(why);
    }
    counters.retried();
    Promise<Void> pause = Promise.promise();
    vertx.setTimer(FIRST_PAUSE.toMillis() << (attempts - 1), _ -> pause.complete());
    return pause.future().compose(_ -> clientGone ? Future.failedFuture(why) : tryOnce());
  }

  private Future<Void> deliver(HttpClientResponse answer) {
    String type = answer.getHeader("content-type");
    boolean stream = type != null && type.startsWith("text/event-stream");
    response.putHeader("x-request-id", requestId);
    if (type != null) {
      response.putHeader("content-type", type);
    }
    if (stream) {
      return stream(answer);
    }
    return client.body(answer)
        .recover(e -> Future.failedFuture(ProxyException.retriable(502, "the answer broke off: " + e.getMessage(), e)))
        .compose(whole -> {
          counters.served();
          return response.end(whole);
        });
  }

  private Future<Void> stream(HttpClientResponse answer) {
    response.setChunked(true);
    return answer.pipe().endOnFailure(false).to(response).onSuccess(_ -> counters.served())
        .recover(e -> Future.failedFuture(ProxyException.retriable(502, "the stream broke off: " + e.getMessage(), e)));
  }

  /** Tells the client what went wrong: by the status, or, in a stream that has begun, by an event, without [DONE]. */
  private Future<Void> apologize(Throwable why) {
    counters.failed();
    if (clientGone || response.ended()) {
      return Future.succeededFuture();
    }
    ProxyException e = why instanceof ProxyException known ? known
        : ProxyException.retriable(500, "the proxy failed: " + why, why);
    if (!response.headWritten()) {
      return Answers.json(response, e.status(), Bodies.error(e.status(), e.getMessage() + attemptsMade()));
    }
    JsonObject error = Bodies.error(e.status(), String.valueOf(e.getMessage()));
    return response.end(Buffer.buffer("data: " + error.encode() + "\n\n"));
  }

  private String attemptsMade() {
    return attempts == 1 ? "" : " (attempt " + attempts + " of " + config.attempts() + ")";
  }
}
