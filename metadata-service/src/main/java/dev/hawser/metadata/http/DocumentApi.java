/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The description of this API, which a test compares with the routes. */
final class DocumentApi {
  private static final String DOCUMENT = "openapi.json";

  private @Nullable Buffer document;

  List<Route> routes() {
    return List.of(Route.get("/openapi.json", Access.OPEN, this::openApi));
  }

  private Future<Void> openApi(Exchange exchange, Buffer body) {
    Buffer loaded = document;
    if (loaded == null) {
      loaded = load();
      document = loaded;
    }
    exchange.answer(200, Names.JSON, loaded);
    return Future.succeededFuture();
  }

  private static Buffer load() {
    try (InputStream in = DocumentApi.class.getResourceAsStream(DOCUMENT)) {
      if (in == null) {
        throw new IllegalStateException(DOCUMENT + " is missing in the jar; build it anew");
      }
      return Buffer.buffer(in.readAllBytes());
    } catch (IOException failed) {
      throw new UncheckedIOException(DOCUMENT + " cannot be read from the jar", failed);
    }
  }
}
