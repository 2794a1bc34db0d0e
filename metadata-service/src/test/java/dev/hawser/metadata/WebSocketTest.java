/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The watch over a WebSocket: the same events, one message each. */
class WebSocketTest {
  private static final long EPOCH = 1_760_000_000_000_000L;

  @TempDir
  private Path folder;

  @Test
  void tellsWhatTheEventStreamTells() throws InterruptedException {
    MetadataService service = MetadataService.start(keepalive());
    try (TestClient client = new TestClient(service.uri());
        HttpClient http = HttpClient.newHttpClient()) {
      Messages messages = new Messages();
      WebSocket socket = open(http, service, "", messages);
      assertThat(messages.next()).startsWith("{\"event\":\"ready\",\"revision\":\"");
      String revision = TestClient.header(client.publish("a", EPOCH, "x", "Hawser-Address", "h:1"), "Hawser-Revision");
      assertThat(messages.next())
          .isEqualTo(
              "{\"event\":\"put\",\"name\":\"a\",\"epoch\":\"" + EPOCH + "\",\"revision\":\"" + revision
                  + "\",\"address\":\"h:1\"}");
      client.publish("b", EPOCH, "x");
      client.delete("a", EPOCH);
      assertThat(messages.next()).contains("\"put\"").contains("\"b\"");
      assertThat(messages.next()).contains("\"delete\"");
      assertThat(messages.pings.poll(20, TimeUnit.SECONDS)).as("life").isNotNull();

      Messages resumed = new Messages();
      WebSocket second = open(http, service, "?names=b&revision=" + revision, resumed);
      assertThat(resumed.next()).isEqualTo("{\"event\":\"ready\",\"revision\":\"" + revision + "\"}");
      assertThat(resumed.next()).contains("\"b\"");
      second.sendClose(WebSocket.NORMAL_CLOSURE, "").join();

      service.close();
      assertThat(messages.next()).startsWith("{\"event\":\"bye\"");
      assertThat(messages.next()).isEqualTo("closed 1001");
      socket.abort();
    }
  }

  @Test
  void leavingIsNoticed() throws InterruptedException {
    MetadataConfig one = MetadataConfig.builder().maxWatchers(1).build();
    try (MetadataService service = MetadataService.start(one);
        HttpClient http = HttpClient.newHttpClient()) {
      Messages first = new Messages();
      WebSocket socket = open(http, service, "", first);
      first.next();
      assertThatThrownBy(() -> open(http, service, "", new Messages()))
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOfSatisfying(
              WebSocketHandshakeException.class,
              refused -> assertThat(refused.getResponse().statusCode()).isEqualTo(503));
      socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
      assertThat(first.next()).isEqualTo("closed 1000");
      // The close frame is answered after the watch has left.
      Messages second = new Messages();
      open(http, service, "", second).abort();
    }
  }

  @Test
  void needsAToken() throws IOException, InterruptedException {
    Path tokens = Files.write(folder.resolve("tokens"), List.of("read * reader-0123456789"));
    try (MetadataService service = MetadataService.start(MetadataConfig.builder().tokens(tokens).build());
        HttpClient http = HttpClient.newHttpClient()) {
      assertThatThrownBy(() -> open(http, service, "", new Messages()))
          .cause()
          .isInstanceOfSatisfying(
              WebSocketHandshakeException.class,
              refused -> assertThat(refused.getResponse().statusCode()).isEqualTo(401));
      Messages messages = new Messages();
      WebSocket socket =
          http.newWebSocketBuilder()
              .header("Authorization", "Bearer reader-0123456789")
              .buildAsync(uri(service, ""), messages)
              .join();
      assertThat(messages.next()).contains("ready");
      socket.abort();
    }
  }

  private static MetadataConfig keepalive() {
    return MetadataConfig.builder().watchKeepalive(Duration.ofMillis(100)).build();
  }

  private static WebSocket open(HttpClient http, MetadataService service, String query, Messages messages) {
    return http.newWebSocketBuilder().buildAsync(uri(service, query), messages).join();
  }

  private static URI uri(MetadataService service, String query) {
    return URI.create("ws://127.0.0.1:" + service.port() + "/v1/watch" + query);
  }

  private static final class Messages implements WebSocket.Listener {
    private final BlockingQueue<String> texts = new LinkedBlockingQueue<>();
    private final BlockingQueue<Boolean> pings = new LinkedBlockingQueue<>();

    String next() throws InterruptedException {
      String text = texts.poll(20, TimeUnit.SECONDS);
      if (text == null) {
        throw new AssertionError("nothing came");
      }
      return text;
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
      texts.add(data.toString());
      socket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onPing(WebSocket socket, ByteBuffer message) {
      pings.add(true);
      socket.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
      texts.add("closed " + status);
      return null;
    }
  }
}
