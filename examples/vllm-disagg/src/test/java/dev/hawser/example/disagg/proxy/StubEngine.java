/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** An engine that answers as it is told, and remembers what it was asked. */
final class StubEngine implements AutoCloseable {
  /** What it was asked. */
  record Asked(JsonObject body, String requestId) {
    JsonObject parameters() {
      return body.getJsonObject("kv_transfer_params");
    }
  }

  /** What it does with a completion. */
  interface Behaviour {
    void answer(HttpServerRequest request, Asked asked);
  }

  private final Vertx vertx = Vertx.vertx();
  private final HttpServer server;
  private final List<Asked> asked = new CopyOnWriteArrayList<>();
  private final CountDownLatch reset = new CountDownLatch(1);
  private final Semaphore arrived = new Semaphore(0);
  private volatile Behaviour behaviour;
  private volatile int health = 200;

  StubEngine(Behaviour behaviour) {
    this.behaviour = behaviour;
    server = vertx.createHttpServer().requestHandler(this::handle);
    server.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().join();
  }

  private void handle(HttpServerRequest request) {
    if ("/health".equals(request.path())) {
      request.response().setStatusCode(health).end(new JsonObject().put("kv_transfer",
          new JsonObject().put("remote_host", "kv-host").put("remote_port", 5600)).toBuffer());
      return;
    }
    request.response().closeHandler(_ -> {
      if (!request.response().ended()) {
        reset.countDown();
      }
    });
    request.body().onSuccess(body -> {
      Asked now = new Asked(body.toJsonObject(), Objects.requireNonNullElse(request.getHeader("x-request-id"), ""));
      asked.add(now);
      arrived.release();
      behaviour.answer(request, now);
    });
  }

  void behave(Behaviour other) {
    behaviour = other;
  }

  void health(int status) {
    health = status;
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + server.actualPort());
  }

  List<Asked> asked() {
    return asked;
  }

  /** Waits until it was asked for a completion. */
  boolean awaitAsked() throws InterruptedException {
    return arrived.tryAcquire(10, TimeUnit.SECONDS);
  }

  /** Waits until somebody has hung up before the answer's end. */
  boolean awaitHangUp() throws InterruptedException {
    return reset.await(10, TimeUnit.SECONDS);
  }

  Vertx vertx() {
    return vertx;
  }

  /** A prefill engine that lends. */
  static Behaviour lends() {
    return (request, asked) -> json(request.response(), 200, new JsonObject().put("choices", new JsonArray())
        .put("kv_transfer_params", new JsonObject().put("do_remote_prefill", true)
            .put("transfer_id", asked.parameters().getString("transfer_id"))));
  }

  /** A decode engine that answers with a text. */
  static Behaviour says(String text) {
    return (request, _) -> json(request.response(), 200,
        new JsonObject().put("choices", new JsonArray().add(new JsonObject().put("text", text))));
  }

  static Behaviour fails(int status, String message) {
    return (request, _) -> json(request.response(), status, Bodies.error(status, message));
  }

  static Behaviour hangsUp() {
    return (request, _) -> request.connection().close();
  }

  static Behaviour silent() {
    return (_, _) -> {};
  }

  /** Streams some events, one every few milliseconds. */
  static Behaviour streams(Vertx vertx, int events, int millis, boolean breaksOff) {
    return (request, _) -> {
      HttpServerResponse response = request.response().putHeader("content-type", "text/event-stream").setChunked(true);
      int[] sent = new int[1];
      vertx.setPeriodic(millis, timer -> {
        if (sent[0] < events) {
          response.write("data: {\"n\":" + sent[0]++ + "}\n\n");
        } else {
          vertx.cancelTimer(timer);
          if (breaksOff) {
            request.connection().close();
          } else {
            response.end("data: [DONE]\n\n");
          }
        }
      });
    };
  }

  private static void json(HttpServerResponse response, int status, JsonObject body) {
    response.setStatusCode(status).putHeader("content-type", "application/json").end(Buffer.buffer(body.encode()));
  }

  @Override
  public void close() {
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }
}
