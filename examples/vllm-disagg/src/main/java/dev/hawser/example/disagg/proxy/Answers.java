/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;

/** The proxy's own answers. */
final class Answers {
  private Answers() {}

  static Future<Void> json(HttpServerResponse response, int status, JsonObject body) {
    response.headers().remove("transfer-encoding");
    return response.setChunked(false).setStatusCode(status).putHeader("content-type", "application/json")
        .end(body.toBuffer());
  }

  static Future<Void> error(HttpServerResponse response, int status, String message) {
    return json(response, status, Bodies.error(status, message));
  }
}
