/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One attempt at a request: its phases at one prefill and one decode engine. Everything happens on one context. */
final class Attempt {
  private final EngineClient client;
  private final Mode mode;
  private final String path;
  private final JsonObject body;
  private final String requestId;
  private final String transfer;
  private final MultiMap headers;
  private final Engine prefill;
  private final Engine decode;
  private final List<HttpClientRequest> requests = new ArrayList<>();
  private boolean cancelled;
  private int busy;

  Attempt(EngineClient client, Mode mode, String path, JsonObject body, String requestId, String transfer,
      MultiMap headers, Engine prefill, Engine decode) {
    this.client = client;
    this.mode = mode;
    this.path = path;
    this.body = body;
    this.requestId = requestId;
    this.transfer = transfer;
    this.headers = headers;
    this.prefill = prefill;
    this.decode = decode;
    prefill.begin();
    decode.begin();
    busy = 3;
  }

  /** The decode engine's response, paused, of status 200; or a failure that says whether another attempt makes sense. */
  Future<HttpClientResponse> run() {
    return mode == Mode.PULL ? pull() : push();
  }

  private Future<HttpClientResponse> pull() {
    return prefilled(Bodies.lend(transfer, Mode.PULL)).compose(parameters -> {
      if (parameters == null) {
        // Without them the decode engine would compute the prompt again, and nobody would notice.
        throw ProxyException.of(502, prefill + " gave no kv_transfer_params: is a KV connector configured there?");
      }
      return decoded(parameters);
    });
  }

  private Future<HttpClientResponse> push() {
    JsonObject address = prefill.kvAddress();
    if (address == null) {
      return Future.failedFuture(ProxyException.retriable(502,
          prefill + " does not tell in /health where its KV cache is reached, which a push needs",
          new IllegalStateException("no address")));
    }
    Future<HttpClientResponse> decoded = decoded(Bodies.awaitPush(transfer, address));
    Future<@Nullable JsonObject> prefilled = prefilled(Bodies.lend(transfer, Mode.PUSH));
    // The first failure counts: what the other phase says after its reset is no news.
    return Future.all(prefilled, decoded).onFailure(_ -> cancel()).compose(_ -> decoded);
  }

  private Future<@Nullable JsonObject> prefilled(JsonObject parameters) {
    return send(prefill, Bodies.prefill(body, parameters))
        .compose(response -> client.body(response).recover(e -> Future.failedFuture(broken(prefill, e)))
            .compose(answer -> checked(prefill, response, answer)))
        .map(Attempt::parameters)
        .onComplete(_ -> leave(prefill));
  }

  private static @Nullable JsonObject parameters(Buffer answer) {
    try {
      return answer.toJsonObject().getJsonObject(Bodies.PARAMETERS);
    } catch (DecodeException | ClassCastException e) {
      throw ProxyException.retriable(502, "the prefill's answer is no JSON: " + e.getMessage(), e);
    }
  }

  private Future<HttpClientResponse> decoded(JsonObject parameters) {
    return send(decode, Bodies.decode(body, parameters)).compose(response -> {
      if (response.statusCode() == 200) {
        return Future.succeededFuture(response);
      }
      return client.body(response).recover(e -> Future.failedFuture(broken(decode, e)))
          .compose(answer -> checked(decode, response, answer)).map(response);
    });
  }

  private Future<HttpClientResponse> send(Engine engine, JsonObject phase) {
    if (cancelled) {
      return Future.failedFuture(ProxyException.of(499, "the client has gone"));
    }
    return client.send(engine, path, phase, requestId, headers, this::begun)
        .recover(e -> Future.failedFuture(broken(engine, e)));
  }

  private void begun(HttpClientRequest request) {
    requests.add(request);
    if (cancelled) {
      request.reset();
    }
  }

  private static ProxyException broken(Engine engine, Throwable e) {
    return ProxyException.retriable(502, engine + " does not answer: " + e.getMessage(), e);
  }

  /** A status of 4xx is the client's affair; of 5xx, this engine's. */
  private static Future<Buffer> checked(Engine engine, HttpClientResponse response, Buffer answer) {
    int status = response.statusCode();
    if (status == 200) {
      return Future.succeededFuture(answer);
    }
    String message = engine + " answers " + status + ": " + message(answer);
    return Future.failedFuture(status < 500 ? ProxyException.of(status, message)
        : ProxyException.retriable(status == 503 ? 503 : 502, message, new IllegalStateException(message)));
  }

  private static String message(Buffer answer) {
    try {
      return answer.toJsonObject().getJsonObject("error").getString("message");
    } catch (DecodeException | ClassCastException | NullPointerException e) {
      return answer.length() > 200 ? answer.getString(0, 200) : answer.toString();
    }
  }

  /** Gives it up: the engines notice that their client has gone, and free what they hold. */
  void cancel() {
    cancelled = true;
    requests.forEach(HttpClientRequest::reset);
  }

  /** All is over, however it went. */
  void end() {
    leave(prefill);
    leave(decode);
  }

  private void leave(Engine engine) {
    int bit = engine == prefill ? 1 : 2;
    if ((busy & bit) != 0) {
      busy &= ~bit;
      engine.end();
    }
  }
}
