/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What is served as it is in the jar: the page, and the description of this API, which a test compares with the routes.
 * The page needs nothing from elsewhere, and is told so.
 */
final class FilesApi {
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self';"
          + " img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

  private final Map<String, Buffer> loaded = new HashMap<>();

  List<Route> routes() {
    return List.of(
        file("/", "page/index.html", "text/html; charset=utf-8"),
        file("/page.css", "page/page.css", "text/css; charset=utf-8"),
        file("/page.js", "page/page.js", "text/javascript; charset=utf-8"),
        file("/openapi.json", "openapi.json", Names.JSON));
  }

  private Route file(String path, String resource, String type) {
    return Route.get(path, Access.OPEN, (exchange, body) -> serve(exchange, resource, type));
  }

  private Future<Void> serve(Exchange exchange, String resource, String type) {
    MultiMap headers = exchange.response().headers();
    headers.set("Content-Security-Policy", POLICY);
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Referrer-Policy", "no-referrer");
    headers.set(HttpHeaders.CACHE_CONTROL, "no-cache");
    exchange.answer(200, type, loaded.computeIfAbsent(resource, FilesApi::load));
    return Future.succeededFuture();
  }

  private static Buffer load(String resource) {
    try (InputStream in = FilesApi.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " is missing in the jar; build it anew");
      }
      return Buffer.buffer(in.readAllBytes());
    } catch (IOException failed) {
      throw new UncheckedIOException(resource + " cannot be read from the jar", failed);
    }
  }
}
