/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;

/** Reads a client's body, of bounded length. */
final class BodyReader {
  private BodyReader() {}

  static Future<JsonObject> read(HttpServerRequest request, int most) {
    Promise<Buffer> whole = Promise.promise();
    Buffer buffer = Buffer.buffer();
    request.handler(chunk -> {
      if (buffer.length() + chunk.length() > most) {
        whole.tryFail(ProxyException.of(413, "the body has more than " + most + " bytes"));
      } else {
        buffer.appendBuffer(chunk);
      }
    });
    request.exceptionHandler(e -> whole.tryFail(ProxyException.of(400, "the body broke off: " + e.getMessage())));
    request.endHandler(_ -> whole.tryComplete(buffer));
    return whole.future().map(BodyReader::parse);
  }

  private static JsonObject parse(Buffer buffer) {
    try {
      return buffer.toJsonObject();
    } catch (DecodeException | ClassCastException e) {
      throw ProxyException.of(400, "the body is no JSON object: " + e.getMessage());
    }
  }
}
