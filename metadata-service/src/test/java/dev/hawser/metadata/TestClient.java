/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Talks to a service as agents do. */
final class TestClient implements AutoCloseable {
  private static final Duration DEADLINE = Duration.ofSeconds(20);

  private final HttpClient http;
  private final URI base;

  TestClient(URI base) {
    this(base, null);
  }

  TestClient(URI base, @Nullable SSLContext tls) {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    this.http = (tls == null ? builder : builder.sslContext(tls)).build();
    this.base = base;
  }

  HttpResponse<byte[]> publish(String name, long epoch, String blob, String... headers) {
    return send(
        "PUT",
        "/v1/agents/" + name,
        blob.getBytes(StandardCharsets.UTF_8),
        with(headers, "Content-Type", "application/octet-stream", "Hawser-Epoch", Long.toUnsignedString(epoch)));
  }

  HttpResponse<byte[]> fetch(String name) {
    return get("/v1/agents/" + name, "Accept", "application/octet-stream");
  }

  HttpResponse<byte[]> renew(String name, long epoch, String... headers) {
    return send(
        "POST",
        "/v1/agents/" + name + "/renew",
        null,
        with(headers, "Hawser-Epoch", Long.toUnsignedString(epoch)));
  }

  HttpResponse<byte[]> delete(String name, long epoch) {
    return send("DELETE", "/v1/agents/" + name + "?epoch=" + Long.toUnsignedString(epoch), null);
  }

  HttpResponse<byte[]> get(String path, String... headers) {
    return send("GET", path, null, headers);
  }

  HttpResponse<byte[]> post(String path, String contentType, String body) {
    return send("POST", path, body.getBytes(StandardCharsets.UTF_8), "Content-Type", contentType);
  }

  HttpResponse<byte[]> put(String path, String contentType, String body) {
    return send("PUT", path, body.getBytes(StandardCharsets.UTF_8), "Content-Type", contentType);
  }

  HttpResponse<byte[]> send(String method, String path, byte @Nullable [] body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(base.resolve(path))
            .timeout(DEADLINE)
            .method(
                method,
                body == null
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      return http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    } catch (IOException failed) {
      throw new UncheckedIOException(method + " " + path, failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(method + " " + path, interrupted);
    }
  }

  WatchReader watch(String query, String... headers) {
    return WatchReader.open(base.resolve("/v1/watch" + query), headers);
  }

  @Override
  public void close() {
    http.shutdownNow();
    http.close();
  }

  static String text(HttpResponse<byte[]> response) {
    return new String(response.body(), StandardCharsets.UTF_8);
  }

  static String header(HttpResponse<byte[]> response, String name) {
    return response.headers().firstValue(name).orElse("");
  }

  private static String[] with(String[] headers, String... more) {
    String[] all = java.util.Arrays.copyOf(more, more.length + headers.length);
    System.arraycopy(headers, 0, all, more.length, headers.length);
    return all;
  }
}
