/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The proxy between a client and engines that behave and misbehave. */
class ProxyTest {
  private static final JsonObject BODY = new JsonObject().put("prompt", "Hello").put("max_tokens", 7)
      .put("stream_options", new JsonObject()).put("temperature", 0);

  private final List<AutoCloseable> opened = new ArrayList<>();
  private final StubEngine prefill = engine(StubEngine.lends());
  private final StubEngine decode = engine(StubEngine.says("world"));
  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @AfterEach
  void close() throws Exception {
    client.shutdownNow();
    for (AutoCloseable one : opened.reversed()) {
      one.close();
    }
  }

  private StubEngine engine(StubEngine.Behaviour behaviour) {
    StubEngine engine = new StubEngine(behaviour);
    opened.add(engine);
    return engine;
  }

  private Proxy proxy(Mode mode, List<URI> prefills, List<URI> decodes) {
    Proxy proxy = Proxy.start(new ProxyConfig("127.0.0.1", 0, prefills, decodes, mode, 3, Duration.ofSeconds(2),
        Duration.ofSeconds(20), Duration.ofSeconds(20), Duration.ofMillis(50), Duration.ofMillis(200),
        Duration.ofSeconds(20), 1 << 16));
    opened.add(proxy);
    return proxy;
  }

  private Proxy proxy(Mode mode) {
    return proxy(mode, List.of(prefill.uri()), List.of(decode.uri()));
  }

  private static HttpRequest completion(Proxy proxy, String body) {
    return HttpRequest.newBuilder(uri(proxy, "/v1/completions")).header("X-Request-Id", "req-1")
        .header("Authorization", "Bearer key").timeout(Duration.ofSeconds(30))
        .POST(HttpRequest.BodyPublishers.ofString(body)).build();
  }

  private static URI uri(Proxy proxy, String path) {
    return URI.create("http://127.0.0.1:" + proxy.port() + path);
  }

  private HttpResponse<String> send(Proxy proxy) throws IOException, InterruptedException {
    return client.send(completion(proxy, BODY.encode()), HttpResponse.BodyHandlers.ofString());
  }

  private static String error(HttpResponse<String> response) {
    return new JsonObject(response.body()).getJsonObject("error").getString("message");
  }

  @Test
  void prefillsThenDecodes() throws Exception {
    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(response.body()).contains("world");
    assertThat(response.headers().firstValue("x-request-id")).contains("req-1");
    StubEngine.Asked first = prefill.asked().getFirst();
    assertThat(first.requestId()).isEqualTo("req-1");
    assertThat(first.body().getInteger("max_tokens")).isEqualTo(1);
    assertThat(first.body().getBoolean("stream")).isFalse();
    assertThat(first.body().containsKey("stream_options")).isFalse();
    assertThat(first.parameters().getBoolean("do_remote_decode")).isTrue();
    StubEngine.Asked second = decode.asked().getFirst();
    assertThat(second.requestId()).isEqualTo("req-1");
    assertThat(second.body().getInteger("max_tokens")).isEqualTo(7);
    assertThat(second.parameters().getBoolean("do_remote_prefill")).isTrue();
    assertThat(second.parameters().getString("transfer_id"))
        .isEqualTo(first.parameters().getString("transfer_id")).startsWith("req-1.");
  }

  @Test
  void pushesAtOnce() throws Exception {
    CountDownLatch both = new CountDownLatch(2);
    StubEngine.Behaviour lends = StubEngine.lends();
    prefill.behave((request, asked) -> meet(both, () -> lends.answer(request, asked)));
    StubEngine.Behaviour says = StubEngine.says("pushed");
    decode.behave((request, asked) -> meet(both, () -> says.answer(request, asked)));
    Proxy proxy = proxy(Mode.PUSH);
    awaitHealth(proxy, 200);

    HttpResponse<String> response = send(proxy);

    assertThat(response.body()).contains("pushed");
    JsonObject told = decode.asked().getFirst().parameters();
    assertThat(told.getString("remote_host")).isEqualTo("kv-host");
    assertThat(told.getInteger("remote_port")).isEqualTo(5600);
    assertThat(told.getString("transfer_mode")).isEqualTo("push");
    assertThat(told.getString("transfer_id"))
        .isEqualTo(prefill.asked().getFirst().parameters().getString("transfer_id"));
  }

  /** Goes on, in a thread of its own, when both are there: neither phase waits for the other's answer. */
  private static void meet(CountDownLatch both, Runnable next) {
    both.countDown();
    Thread.ofVirtual().start(() -> {
      try {
        if (both.await(10, TimeUnit.SECONDS)) {
          next.run();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    });
  }

  @Test
  void aPushThatFailsTellsTheFirstReason() throws Exception {
    prefill.behave(StubEngine.silent());
    decode.behave(StubEngine.fails(400, "bad parameters"));
    Proxy proxy = proxy(Mode.PUSH);
    awaitHealth(proxy, 200);

    HttpResponse<String> response = send(proxy);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(error(response)).contains("bad parameters");
    assertThat(prefill.awaitHangUp()).isTrue();
  }

  @Test
  void passesAStreamOn() throws Exception {
    decode.behave(StubEngine.streams(decode.vertx(), 20, 2, false));

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.headers().firstValue("content-type")).contains("text/event-stream");
    assertThat(response.body().lines().filter(line -> line.startsWith("data: {"))).hasSize(20);
    assertThat(response.body()).endsWith("data: [DONE]\n\n");
  }

  @Test
  void aStreamThatBreaksOffEndsWithAnErrorAndWithoutDone() throws Exception {
    decode.behave(StubEngine.streams(decode.vertx(), 3, 2, true));

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).contains("{\"n\":2}").contains("the stream broke off").doesNotContain("[DONE]");
    assertThat(decode.asked()).hasSize(1);
  }

  @Test
  void triesAnotherPrefillEngine() throws Exception {
    StubEngine bad = engine(StubEngine.fails(500, "out of memory"));
    Proxy proxy = proxy(Mode.PULL, List.of(bad.uri(), prefill.uri()), List.of(decode.uri()));

    for (int i = 0; i < 4; i++) {
      assertThat(send(proxy).statusCode()).isEqualTo(200);
    }
    assertThat(bad.asked()).isNotEmpty();
    assertThat(decode.asked()).hasSize(4);
  }

  @Test
  void anotherAttemptIsAnotherTransferFromThePrefillOn() throws Exception {
    StubEngine.Behaviour says = StubEngine.says("at last");
    decode.behave((request, asked) -> {
      (decode.asked().size() < 3 ? StubEngine.fails(500, "STALE") : says).answer(request, asked);
    });

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.body()).contains("at last");
    assertThat(prefill.asked().stream().map(asked -> asked.parameters().getString("transfer_id")).distinct())
        .hasSize(3);
    assertThat(decode.asked().stream().map(asked -> asked.parameters().getString("transfer_id")).distinct()).hasSize(3);
  }

  @Test
  void anEngineThatHangsUpIsTriedAgain() throws Exception {
    StubEngine.Behaviour lends = StubEngine.lends();
    prefill
        .behave((request, asked) -> (prefill.asked().size() < 2 ? StubEngine.hangsUp() : lends).answer(request, asked));

    assertThat(send(proxy(Mode.PULL)).statusCode()).isEqualTo(200);
  }

  @Test
  void saysWhatFailedWhenAllAttemptsDid() throws Exception {
    decode.behave(StubEngine.fails(500, "the KV cache did not arrive"));

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.statusCode()).isEqualTo(502);
    assertThat(error(response)).contains("decode engine http://127.0.0.1:").contains("the KV cache did not arrive")
        .contains("attempt 3 of 3");
    assertThat(response.headers().firstValue("content-type")).contains("application/json");
  }

  @Test
  void theClientsMistakesAreNotTriedAgain() throws Exception {
    prefill.behave(StubEngine.fails(400, "prompt: too long"));

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(error(response)).contains("prompt: too long");
    assertThat(prefill.asked()).hasSize(1);
    assertThat(decode.asked()).isEmpty();
  }

  @Test
  void aPrefillWithoutParametersIsAnError() throws Exception {
    prefill.behave(StubEngine.says("no connector here"));

    HttpResponse<String> response = send(proxy(Mode.PULL));

    assertThat(response.statusCode()).isEqualTo(502);
    assertThat(error(response)).contains("gave no kv_transfer_params");
    assertThat(decode.asked()).isEmpty();
  }

  @Test
  void aClientThatGoesEndsItsRequest() throws Exception {
    decode.behave(StubEngine.silent());
    Proxy proxy = proxy(Mode.PULL);
    CompletableFuture<HttpResponse<String>> sent =
        client.sendAsync(completion(proxy, BODY.encode()), HttpResponse.BodyHandlers.ofString());
    assertThat(decode.awaitAsked()).isTrue();

    sent.cancel(true);

    assertThat(decode.awaitHangUp()).isTrue();
    assertThat(decode.asked()).hasSize(1);
  }

  @Test
  void bodiesAreChecked() throws Exception {
    Proxy proxy = proxy(Mode.PULL);

    HttpResponse<String> tooLong =
        client.send(completion(proxy, new JsonArray().add("x".repeat(70_000)).encode()),
            HttpResponse.BodyHandlers.ofString());
    HttpResponse<String> noJson = client.send(completion(proxy, "[1"), HttpResponse.BodyHandlers.ofString());
    HttpResponse<String> nowhere =
        client.send(HttpRequest.newBuilder(uri(proxy, "/v2")).build(), HttpResponse.BodyHandlers.ofString());

    assertThat(tooLong.statusCode()).isEqualTo(413);
    assertThat(noJson.statusCode()).isEqualTo(400);
    assertThat(nowhere.statusCode()).isEqualTo(404);
    assertThat(prefill.asked()).isEmpty();
  }

  @Test
  void healthFollowsTheEngines() throws Exception {
    Proxy proxy = proxy(Mode.PULL);
    awaitHealth(proxy, 200);

    decode.health(503);
    awaitHealth(proxy, 503);

    decode.health(200);
    awaitHealth(proxy, 200);
    String metrics = client.send(HttpRequest.newBuilder(uri(proxy, "/metrics")).build(),
        HttpResponse.BodyHandlers.ofString()).body();
    assertThat(metrics).contains("hawser_proxy_engine_up{role=\"DECODE\",engine=\"" + decode.uri() + "\"} 1");
  }

  private void awaitHealth(Proxy proxy, int status) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(uri(proxy, "/health")).build();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() != status) {
      assertThat(System.nanoTime()).as("health did not become %s", status).isLessThan(deadline);
    }
  }

  @Test
  void drainsWithoutLosingARequest() throws Exception {
    decode.behave(StubEngine.streams(decode.vertx(), 60, 20, false));
    Proxy proxy = proxy(Mode.PULL);
    List<CompletableFuture<HttpResponse<InputStream>>> streams = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      streams.add(client.sendAsync(completion(proxy, BODY.encode()), HttpResponse.BodyHandlers.ofInputStream()));
    }
    for (CompletableFuture<HttpResponse<InputStream>> stream : streams) {
      assertThat(stream.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    }

    CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(proxy::drain);
    awaitHealth(proxy, 503);
    // While its health tells that it goes, it still takes requests.
    HttpResponse<String> late = send(proxy);

    assertThat(late.body()).endsWith("data: [DONE]\n\n");
    for (CompletableFuture<HttpResponse<InputStream>> stream : streams) {
      assertThat(new String(stream.get().body().readAllBytes(), StandardCharsets.UTF_8))
          .contains("{\"n\":59}").endsWith("data: [DONE]\n\n");
    }
    assertThat(drained.get(20, TimeUnit.SECONDS)).isTrue();
    assertThatThrownBy(() -> send(proxy)).isInstanceOf(ConnectException.class);
  }

  @Test
  void drainingEndsInTimeAlsoIfAnEngineDoesNot() throws Exception {
    decode.behave(StubEngine.silent());
    Proxy proxy =
        Proxy.start(new ProxyConfig("127.0.0.1", 0, List.of(prefill.uri()), List.of(decode.uri()), Mode.PULL, 1,
            Duration.ofSeconds(2), Duration.ofSeconds(60), Duration.ofSeconds(60), Duration.ofMillis(50),
            Duration.ofMillis(10), Duration.ofMillis(300), 1 << 16));
    opened.add(proxy);
    CompletableFuture<HttpResponse<String>> sent =
        client.sendAsync(completion(proxy, BODY.encode()), HttpResponse.BodyHandlers.ofString());
    assertThat(decode.awaitAsked()).isTrue();

    assertThat(proxy.drain()).isFalse();
    // An answer that says so, or none at all if the connection was closed first; tokens never.
    assertThat(sent.handle((answer, e) -> answer == null ? 502 : answer.statusCode()))
        .succeedsWithin(Duration.ofSeconds(10)).isEqualTo(502);
  }
}
