/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/** Serves a route. */
@FunctionalInterface
interface Handler {
  /**
   * Answers the exchange before the future succeeds, or begins an answer that goes on; a failed future, or an exception,
   * becomes a problem.
   *
   * @param body whole; empty when there is none
   */
  Future<Void> handle(Exchange exchange, Buffer body);

  /** For handlers whose answer is complete, within {@link Future#compose}, which turns what is thrown into a failed future. */
  static Future<Void> done(Runnable answer) {
    answer.run();
    return Future.succeededFuture();
  }
}
