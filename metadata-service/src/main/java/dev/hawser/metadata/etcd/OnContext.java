/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Brings results back to the event loop that asked. */
final class OnContext {
  private OnContext() {}

  static <T> Future<T> of(CompletableFuture<T> result) {
    Context context = Vertx.currentContext();
    Promise<T> promise = Promise.promise();
    CompletableFuture<T> _ =
        result.whenComplete(
            (value, failed) -> {
              if (context == null) {
                settle(promise, value, failed);
              } else {
                context.runOnContext(run -> settle(promise, value, failed));
              }
            });
    return promise.future();
  }

  private static <T> void settle(Promise<T> promise, T value, @Nullable Throwable failed) {
    if (failed == null) {
      promise.complete(value);
    } else {
      promise.fail(failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed);
    }
  }
}
