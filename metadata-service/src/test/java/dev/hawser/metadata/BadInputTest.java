/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static dev.hawser.metadata.TestClient.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each wrong request gets its own problem, which names what is wrong; the service serves on. */
class BadInputTest {
  private static final int MAX_BLOB = 10_000;

  private final MetadataService service =
      MetadataService.start(
          MetadataConfig.builder()
              .maxBlobBytes(MAX_BLOB)
              .maxAgents(3)
              .maxWatchers(1)
              .maxConnections(40)
              .requestTimeout(Duration.ofMillis(700))
              .idleTimeout(Duration.ofMillis(1500))
              .build());
  private final TestClient client = new TestClient(service.uri());

  @AfterEach
  void servesOn() {
    assertThat(client.get("/health/ready").statusCode()).isEqualTo(200);
    client.close();
    service.close();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "Hawser-Epoch      | banana                | epoch is 'banana'; give an unsigned decimal number",
      "Hawser-Epoch      | 0                     | epoch is 0",
      "Hawser-Epoch      | -1                    | epoch is '-1'",
      "Hawser-Epoch      | 18446744073709551616  | the greatest is 18446744073709551615",
      "Hawser-Ttl-Millis | 99                    | ttl_millis is 99; give 100 to 86400000 milliseconds",
      "Hawser-Ttl-Millis | 1e3                   | ttl_millis is '1e3'",
      "Hawser-Address    | a b                   | address has U+0020 at 1",
      "Hawser-Labels     | role                  | labels have 'role' without '='",
      "Hawser-Labels     | role=a,role=b         | labels have the key 'role' twice",
      "Hawser-Summary    | {                     | summary is not JSON",
      "Hawser-Summary    | [1]                   | summary is not a JSON object",
      "Hawser-Expect-Epoch | x                   | expect_epoch is 'x'",
  })
  void headersOfAPublication(String name, String value, String message) {
    HttpResponse<byte[]> refused =
        name.equals("Hawser-Epoch")
            ? client.send("PUT", "/v1/agents/a", new byte[1], "Content-Type", "application/octet-stream", name, value)
            : client.publish("a", 1, "x", name, value);
    isProblem(refused, 400, "bad-request", message);
    assertThat(client.fetch("a").statusCode()).isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
      "                                                  | the body is not a JSON object",
      "{                                                 | the body is not JSON",
      "{\"epoch\":1}{}                                 | the body is not JSON",
      "[]                                                | the body is not a JSON object",
      "{\"epoch\":1,\"epoch\":2,\"blob\":\"eA==\"} | the body is not JSON: Duplicate",
      "{\"blob\":\"eA==\"}                           | epoch is missing",
      "{\"epoch\":1.5,\"blob\":\"eA==\"}           | epoch is not an unsigned number",
      "{\"epoch\":-1,\"blob\":\"eA==\"}            | epoch is '-1'",
      "{\"epoch\":1}                                   | blob is missing",
      "{\"epoch\":1,\"blob\":\"\"}                 | blob is empty",
      "{\"epoch\":1,\"blob\":\"?\"}                | blob is not base64",
      "{\"epoch\":1,\"blob\":7}                      | blob is not a string",
      "{\"epoch\":1,\"blob\":\"eA==\",\"ttl\":1} | the body has the unknown field 'ttl'",
      "{\"epoch\":1,\"blob\":\"eA==\",\"labels\":{\"a\":1}} | labels has a value under 'a' that is not a string",
      "{\"epoch\":1,\"blob\":\"eA==\",\"summary\":\"x\"} | summary is not a JSON object",
  })
  void bodyOfAPublication(String body, String message) {
    isProblem(
        client.put("/v1/agents/a", "application/json", body == null ? "" : body), 400, "bad-request", message);
  }

  @Test
  void deepJson() {
    String body = "{\"epoch\":1,\"blob\":\"eA==\",\"summary\":" + "{\"a\":".repeat(100) + "1" + "}".repeat(101);
    isProblem(client.put("/v1/agents/a", "application/json", body), 400, "bad-request", "nesting depth");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-a", "a%20b", "a%00", "%C3%A4", "a%2Fb"})
  void names(String name) {
    isProblem(client.fetch(name), 400, "bad-request", "name ");
  }

  @Test
  void brokenEscape() throws IOException {
    assertThat(raw("GET /v1/agents/a%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).startsWith("HTTP/1.1 400");
  }

  @Test
  void epochIsMissing() {
    isProblem(client.send("DELETE", "/v1/agents/a", null), 400, "bad-request", "epoch is missing");
    isProblem(client.send("POST", "/v1/agents/a/renew", null), 400, "bad-request", "epoch is missing");
    isProblem(
        client.send("PUT", "/v1/agents/a", new byte[1], "Content-Type", "application/octet-stream"),
        400,
        "bad-request",
        "epoch is missing; give it in the header Hawser-Epoch");
  }

  @Test
  void contentTypes() {
    isProblem(
        client.send("PUT", "/v1/agents/a", new byte[1], "Hawser-Epoch", "1"),
        415,
        "unsupported-media-type",
        "application/octet-stream");
    isProblem(client.put("/v1/agents/a", "text/html", "x"), 415, "unsupported-media-type", "'text/html'");
    isProblem(client.post("/v1/renew", "text/html", "x"), 415, "unsupported-media-type", "text/plain");
    isProblem(
        client.post("/v1/agents/a/renew?epoch=1", "text/plain", "x"), 415, "unsupported-media-type", "summary");
    isProblem(client.get("/v1/agents/a", "Accept", "text/html"), 406, "not-acceptable", "'text/html'");
    isProblem(client.get("/v1/watch", "Accept", "application/json"), 406, "not-acceptable", "text/event-stream");
  }

  @Test
  void appending() {
    isProblem(append("a", 1, "1", "x"), 404, "agent-unknown", "No agent a");
    client.publish("a", 5, "base");
    isProblem(append("a", 4, "4", "x"), 409, "epoch-superseded", "superseded by epoch 5");
    isProblem(append("a", 6, "4", "x"), 404, "agent-unknown", "publishes it again");
    isProblem(append("a", 5, "3", "x"), 409, "offset-differs", "has 4 bytes");
    isProblem(append("a", 5, "x", "x"), 400, "bad-request", "blob_offset is 'x'");
    isProblem(append("a", 5, "0", "x"), 400, "bad-request", "blob_offset is 0");
    isProblem(append("a", 5, "4", ""), 400, "bad-request", "the body is empty");
    isProblem(
        client.send("PATCH", "/v1/agents/a", new byte[1], "Hawser-Epoch", "5", "Content-Type", "text/html"),
        415, "unsupported-media-type", "behind the blob");
    isProblem(
        client.send("PATCH", "/v1/agents/a", new byte[1], "Hawser-Epoch", "5", "Content-Type",
            "application/octet-stream"),
        400, "bad-request", "blob_offset is missing");
    isProblem(
        client.get("/v1/agents/a", "Accept", "application/octet-stream", "Hawser-Blob-Known", "4 xyz"),
        400, "bad-request", "blob_known is '4 xyz'");
    assertThat(client.fetch("a").body()).hasSize(4);
  }

  private HttpResponse<byte[]> append(String name, long epoch, String offset, String more) {
    return client.send("PATCH", "/v1/agents/" + name, more.getBytes(java.nio.charset.StandardCharsets.US_ASCII),
        "Content-Type", "application/octet-stream", "Hawser-Epoch", Long.toString(epoch), "Hawser-Blob-Offset", offset);
  }

  @Test
  void batches() {
    isProblem(client.post("/v1/renew", "text/plain", "\n"), 400, "bad-request", "the body is empty");
    isProblem(client.post("/v1/renew", "text/plain", "a 1\nb"), 400, "bad-request", "line 2 is 'b'");
    isProblem(client.post("/v1/renew", "text/plain", "a x"), 400, "bad-request", "epoch in line 1 is 'x'");
    isProblem(client.post("/v1/renew", "text/plain", "a 1\n".repeat(1025)), 400, "bad-request", "1 to 1024");
    isProblem(client.post("/v1/renew", "application/json", "{}"), 400, "bad-request", "agents is not an array");
    isProblem(
        client.post("/v1/renew", "application/json", "{\"agents\":[{\"name\":\"a\"}]}"),
        400,
        "bad-request",
        "agents[0].epoch is missing");
  }

  @Test
  void queries() {
    isProblem(client.get("/v1/agents?limit=0"), 400, "bad-request", "limit is 0; give 1 to 10000");
    isProblem(client.get("/v1/agents?limit=x"), 400, "bad-request", "limit is 'x'");
    isProblem(client.get("/v1/agents?blobs=yes"), 400, "bad-request", "blobs is 'yes'; give true or false");
    isProblem(client.get("/v1/agents?label=role"), 400, "bad-request", "label is 'role'; write label=key:value");
    isProblem(client.get("/v1/agents?names=,"), 400, "bad-request", "name has 0 characters");
    isProblem(client.get("/v1/watch?revision=x"), 400, "bad-request", "revision is 'x'");
    isProblem(client.get("/v1/watch?form=xml"), 400, "bad-request", "form is 'xml'; give json or plain");
  }

  @Test
  void routes() {
    isProblem(client.get("/v2/agents"), 404, "no-such-route", "'/v2/agents'");
    isProblem(client.get("/v1/agents/a/b"), 404, "no-such-route", "/v1/agents/a/b");
    isProblem(client.get("/v1/agents/"), 404, "no-such-route", "/v1/agents/");
    HttpResponse<byte[]> refused = client.send("POST", "/v1/agents/a", null);
    isProblem(refused, 405, "method-not-allowed", "use DELETE, GET, HEAD, PATCH, PUT");
    assertThat(header(refused, "Allow")).isEqualTo("DELETE, GET, HEAD, PATCH, PUT");
  }

  @Test
  void blobsAreBounded() {
    assertThat(client.publish("a", 1, "x".repeat(MAX_BLOB)).statusCode()).isEqualTo(201);
    isProblem(client.publish("a", 1, "x".repeat(MAX_BLOB + 1)), 413, "body-too-large", "(--max-blob)");
    isProblem(client.publish("a", 1, "x".repeat(1 << 20)), 413, "body-too-large", "--max-blob moves the limit");
  }

  @Test
  void declaredLengthIsNotTrusted() throws IOException {
    String answer = raw(binaryPut("Content-Length: 4000000000000") + "xxx");
    assertThat(answer).startsWith("HTTP/1.1 413").contains("Hawser-Problem: body-too-large");
  }

  @Test
  void chunkedBodyIsBounded() throws IOException {
    String chunk = "4000\r\n" + "x".repeat(0x4000) + "\r\n";
    String answer =
        raw(binaryPut("Connection: close", "Transfer-Encoding: chunked") + chunk.repeat(8) + "0\r\n\r\n");
    assertThat(answer).startsWith("HTTP/1.1 413");
  }

  @Test
  void bodyWhereNoneBelongs() {
    isProblem(client.send("DELETE", "/v1/agents/a?epoch=1", new byte[9]), 413, "body-too-large", "takes no body");
  }

  @Test
  void summaryIsBounded() {
    String summary = "{\"a\":\"" + "x".repeat(4096) + "\"}";
    isProblem(client.publish("a", 1, "x", "Hawser-Summary", summary), 400, "bad-request", "at most 4096");
    client.publish("a", 1, "x");
    isProblem(
        client.post("/v1/agents/a/renew?epoch=1", "application/json", summary), 400, "bad-request", "at most 4096");
    isProblem(
        client.post("/v1/agents/a/renew?epoch=1", "application/json", summary.repeat(3)), 413, "body-too-large",
        "8192");
  }

  @Test
  void headersAreBounded() {
    isProblem(client.get("/health/live", "X", "x".repeat(20_000)), 431, "headers-too-large", "16384");
    isProblem(client.get("/v1/agents?names=" + "a".repeat(40_000)), 431, "headers-too-large", "32768");
  }

  @Test
  void garbage() throws IOException {
    assertThat(raw("\u0000\u0001\u0002 nonsense\r\n\r\n")).contains(" 400 Bad Request")
        .contains("urn:hawser:problem:bad-request");
  }

  @Test
  void trickledHeadIsGivenUp() throws IOException {
    isClosedWhileTrickling("GET /health/live HTTP/1.1\r\nX: ");
  }

  @Test
  void trickledBodyIsGivenUp() throws IOException {
    isClosedWhileTrickling(binaryPut("Content-Length: 5000"));
    assertThat(client.fetch("a").statusCode()).isEqualTo(404);
  }

  @Test
  void silentConnectionIsGivenUp() throws IOException {
    try (Socket socket = connect()) {
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  @Test
  void tooManyWatchers() {
    try (WatchReader first = client.watch("")) {
      first.take();
      HttpResponse<byte[]> refused = client.get("/v1/watch");
      isProblem(refused, 503, "too-many-watchers", "--max-watchers");
      assertThat(header(refused, "Retry-After")).isEqualTo("1");
    }
  }

  @Test
  void tooManyAgents() {
    for (int i = 0; i < 3; i++) {
      client.publish("a" + i, 1, "x");
    }
    isProblem(client.publish("b", 1, "x"), 507, "store-full", "--max-agents");
  }

  @Test
  void portInUse() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      MetadataConfig config = MetadataConfig.builder().port(taken.getLocalPort()).build();
      assertThatThrownBy(() -> MetadataService.start(config))
          .isInstanceOf(MetadataException.class)
          .hasMessage(
              "The metadata service cannot listen on 127.0.0.1:" + taken.getLocalPort()
                  + ": the port is in use; stop the process that has it, or take another port (0 takes a free one)");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.1", "no.such.host.invalid"})
  void addressThatIsNotHere(String host) {
    assertThatThrownBy(() -> MetadataService.start(MetadataConfig.builder().host(host).allowAnonymous(true).build()))
        .isInstanceOf(MetadataException.class)
        .hasMessageStartingWith("The metadata service cannot listen on " + host + ":0: ")
        .hasMessageContaining("of this machine");
  }

  @Test
  void settingsAreChecked() {
    assertThatThrownBy(() -> MetadataConfig.builder().port(70_000).build())
        .hasMessage("port is 70000; give 0 to 65535");
  }

  private static void isProblem(HttpResponse<byte[]> response, int status, String problem, String message) {
    assertThat(response.statusCode()).as(text(response)).isEqualTo(status);
    assertThat(header(response, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(header(response, "Hawser-Problem")).isEqualTo(problem);
    assertThat(header(response, "Hawser-Detail")).contains(message);
    try {
      JsonNode json = new ObjectMapper().readTree(response.body());
      assertThat(json.get("status").intValue()).isEqualTo(status);
      assertThat(json.get("type").textValue()).isEqualTo("urn:hawser:problem:" + problem);
      assertThat(json.get("detail").textValue()).contains(message);
    } catch (IOException malformed) {
      throw new AssertionError(text(response), malformed);
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(service.uri().getHost(), service.port());
    socket.setSoTimeout(20_000);
    return socket;
  }

  /** Sends the text and gives what comes back until the service closes. */
  private String raw(String request) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  private static String binaryPut(String... headers) {
    return "PUT /v1/agents/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nHawser-Epoch: 1\r\n"
        + String.join("\r\n", headers) + "\r\n\r\n";
  }

  private void isClosedWhileTrickling(String head) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.setSoTimeout(100);
      long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
      boolean closed = false;
      while (!closed && System.nanoTime() < end) {
        closed = trickle(socket);
      }
      assertThat(closed).isTrue();
    }
  }

  /** Sends one byte more; true when the service has closed. */
  private static boolean trickle(Socket socket) {
    try {
      InputStream in = socket.getInputStream();
      socket.getOutputStream().write('x');
      return in.read() < 0;
    } catch (java.net.SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }
}
