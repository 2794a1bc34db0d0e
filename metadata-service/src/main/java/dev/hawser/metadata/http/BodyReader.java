/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.InvalidEnvelopeException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;

/** Collects a request's body, up to the limit of its route. Must be asked before anything else happens on its loop. */
final class BodyReader {
  private static final int FIRST_CHUNK = 16 * 1024;

  private BodyReader() {}

  /**
   * Fails with a problem as soon as the limit is known to be passed; what still comes is thrown away.
   *
   * @param admission runs first; nothing is kept of the body of one who is not let in
   */
  static Future<Buffer> read(HttpServerRequest request, Route route, Runnable admission) {
    try {
      admission.run();
    } catch (ProblemException | InvalidEnvelopeException refused) {
      request.handler(BodyReader::ignore);
      return Future.failedFuture(refused);
    }
    String declared = request.headers().get(HttpHeaders.CONTENT_LENGTH);
    // HTTP itself has refused a length that is not a number.
    long length = declared == null ? -1 : Numbers.unsigned("Content-Length", declared);
    if (length > route.maxBody() || length < -1) {
      request.handler(BodyReader::ignore);
      return Future.failedFuture(tooLarge(request, route));
    }
    if (request.isEnded() || (length <= 0 && !request.headers().contains(HttpHeaders.TRANSFER_ENCODING))) {
      return Future.succeededFuture(Buffer.buffer());
    }
    if ("100-continue".equalsIgnoreCase(request.headers().get(HttpHeaders.EXPECT))) {
      Future<Void> _ = request.response().writeContinue();
    }
    Promise<Buffer> promise = Promise.promise();
    // No more than a chunk on trust: a declared length costs the client nothing.
    Buffer body = Buffer.buffer((int) Math.min(Math.max(length, 0), FIRST_CHUNK));
    request.exceptionHandler(promise::tryFail);
    request.handler(
        chunk -> {
          if (body.length() + (long) chunk.length() > route.maxBody()) {
            request.handler(BodyReader::ignore);
            promise.tryFail(tooLarge(request, route));
          } else {
            body.appendBuffer(chunk);
          }
        });
    request.endHandler(end -> promise.tryComplete(body));
    return promise.future();
  }

  private static void ignore(Buffer chunk) {
    // Read and dropped, so that the answer reaches a client that writes before it reads.
  }

  private static ProblemException tooLarge(HttpServerRequest request, Route route) {
    return (route.maxBody() == 0
        ? Problem.bodyTooLarge(request.method() + " " + route.template() + " takes no body; send none")
        : Problem.bodyTooLarge(
            "The body of " + request.method() + " " + route.template() + " may have at most " + route.maxBody()
                + " bytes"
                + (route.maxBodySetting().isEmpty() ? "" : "; " + route.maxBodySetting() + " moves the limit")))
        .exception();
  }
}
