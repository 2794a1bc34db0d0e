/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import io.vertx.core.http.HttpServerRequest;

/**
 * One line of {@code key=value} for each answered request, under the logger {@code dev.hawser.metadata.access}: at
 * DEBUG, and at WARNING for faults of the service.
 */
final class AccessLog {
  private static final System.Logger LOG = System.getLogger("dev.hawser.metadata.access");

  private AccessLog() {}

  static void answered(HttpServerRequest request, String requestId, String subject, long nanos) {
    int status = request.response().getStatusCode();
    System.Logger.Level level = status == 500 ? System.Logger.Level.WARNING : System.Logger.Level.DEBUG;
    if (LOG.isLoggable(level)) {
      LOG.log(
          level,
          "request_id=" + requestId + " peer=" + request.remoteAddress() + " subject=" + subject + " method="
              + request.method() + " path="
              + shown(String.valueOf(request.path())) + " status=" + status + " us=" + nanos / 1_000);
    }
  }
}
