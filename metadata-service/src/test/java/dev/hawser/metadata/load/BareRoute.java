/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.load;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;

/**
 * What the service is compared with: a Vert.x route that reads what comes and returns 4 KiB, or nothing to a POST, on one
 * event loop as the service.
 */
final class BareRoute {
  private BareRoute() {}

  /** Serves on the port, 0 for a free one, until it is killed. */
  public static void main(String[] arguments) throws InterruptedException {
    Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
    Buffer answer = Buffer.buffer(new byte[4096]);
    HttpServerOptions options =
        new HttpServerOptions().setHost("127.0.0.1").setPort(Integer.parseInt(arguments[0]));
    HttpServer server =
        vertx
            .createHttpServer(options)
            .requestHandler(
                request -> {
                  if (request.method().equals(HttpMethod.PUT)) {
                    request.body().onSuccess(body -> request.response().end(answer));
                  } else if (request.method().equals(HttpMethod.POST)) {
                    request.body().onSuccess(body -> request.response().end());
                  } else {
                    request.response().putHeader("Content-Type", "application/octet-stream").end(answer);
                  }
                });
    vertx
        .deployVerticle(context -> server.listen(), new DeploymentOptions())
        .toCompletionStage()
        .toCompletableFuture()
        .join();
    System.out.println("http://127.0.0.1:" + server.actualPort());
    Thread.currentThread().join();
  }
}
