/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.http.NoServerException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Against a server that says exactly what a test wants it to say. */
class HttpClientTest {
  /** Answers each request on each connection with the next of its scripts; an empty script closes the connection. */
  private static final class ScriptedServer implements AutoCloseable {
    private final ServerSocket listener;
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final List<Socket> connections = new CopyOnWriteArrayList<>();
    private final List<String> scripts;

    ScriptedServer(String... scripts) {
      this.scripts = new ArrayList<>(Arrays.asList(scripts));
      try {
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      Thread.ofVirtual().start(this::accept);
    }

    URI uri() {
      return URI.create("http://127.0.0.1:" + listener.getLocalPort());
    }

    private void accept() {
      try {
        while (true) {
          Socket socket = listener.accept();
          connections.add(socket);
          Thread.ofVirtual().start(() -> serve(socket));
        }
      } catch (IOException e) {
        // The test is over.
        connections.forEach(ScriptedServer::close);
      }
    }

    private void serve(Socket socket) {
      try (socket) {
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        for (String head = readHead(in); !head.isEmpty(); head = readHead(in)) {
          requests.add(head);
          String script;
          synchronized (scripts) {
            script = scripts.isEmpty() ? "" : scripts.removeFirst();
          }
          if (script.isEmpty()) {
            return;
          }
          if (script.equals("silence")) {
            in.readAllBytes();
            return;
          }
          out.write(script.getBytes(StandardCharsets.UTF_8));
          out.flush();
          if (script.contains("Connection: close")) {
            return;
          }
        }
      } catch (IOException e) {
        requests.add("broken: " + e);
      }
    }

    private static String readHead(InputStream in) throws IOException {
      StringBuilder head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        int c = in.read();
        if (c < 0) {
          return "";
        }
        head.append((char) c);
      }
      int at = head.indexOf("Content-Length: ");
      if (at >= 0) {
        in.readNBytes(Integer.parseInt(head.substring(at + 16, head.indexOf("\r", at))));
      }
      return head.toString();
    }

    private static void close(Socket socket) {
      try {
        socket.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() {
      try {
        listener.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nHawser-X: a\r\n\r\nok";

  private static long in(long millis) {
    return System.nanoTime() + Duration.ofMillis(millis).toNanos();
  }

  private static String get(ScriptedServer server) {
    try (HttpClient client = new HttpClient(List.of(server.uri()), null)) {
      return new String(client.send(new HttpRequest("GET", "/x"), in(5_000), 1000).body(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void sendsWhatItWasTold() {
    try (ScriptedServer server = new ScriptedServer(OK);
        HttpClient client = new HttpClient(List.of(server.uri()), null)) {
      HttpClient.Answer answer = client.send(
          new HttpRequest("PUT", "/v1/a?b=c").header("Hawser-Epoch", "7").body(new byte[5]), in(5_000), 10);

      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.reply().header("hawser-x", "")).isEqualTo("a");
      assertThat(answer.body()).isEqualTo("ok".getBytes(StandardCharsets.UTF_8));
      assertThat(server.requests).containsExactly("PUT /v1/a?b=c HTTP/1.1\r\nHost: 127.0.0.1:" + server.uri().getPort()
          + "\r\nHawser-Epoch: 7\r\nContent-Length: 5\r\n\r\n");
    }
  }

  @Test
  void readsBodiesOfEveryKind() {
    try (ScriptedServer server = new ScriptedServer(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + OK,
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")) {
      assertThat(get(server)).isEqualTo("abcde");
      assertThat(get(server)).isEmpty();
      assertThat(get(server)).isEqualTo("ok");
      assertThat(get(server)).isEqualTo("until the end");
    }
  }

  @Test
  void reusesAConnectionAndRepeatsOnlyWhenTheServerHadClosedIt() {
    try (ScriptedServer server = new ScriptedServer(OK, OK, "", OK, "");
        HttpClient client = new HttpClient(List.of(server.uri()), null)) {
      HttpRequest request = new HttpRequest("GET", "/x");
      client.send(request, in(5_000), 10);
      client.send(request, in(5_000), 10);
      assertThat(server.connections).hasSize(1);

      // The kept connection breaks without an answer: the request goes out again on a new one.
      client.send(request, in(5_000), 10);
      assertThat(server.connections).hasSize(2);
      assertThat(server.requests).hasSize(4);

      // A new connection that breaks is a failure of the server.
      try (HttpClient fresh = new HttpClient(List.of(server.uri()), null)) {
        assertThatThrownBy(() -> fresh.send(request, in(5_000), 10)).isInstanceOf(NoServerException.class)
            .hasMessageContaining("without an answer");
      }
    }
  }

  @Test
  void answersHeadRequestsWithoutABody() {
    try (ScriptedServer server = new ScriptedServer("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", OK);
        HttpClient client = new HttpClient(List.of(server.uri()), null)) {
      assertThat(client.send(new HttpRequest("HEAD", "/x"), in(5_000), 10).body()).isEmpty();
      assertThat(client.send(new HttpRequest("GET", "/x"), in(5_000), 10).body()).hasSize(2);
      assertThat(server.connections).hasSize(1);
    }
  }

  @Test
  void givesUpAtTheDeadline() {
    try (ScriptedServer server = new ScriptedServer("silence");
        HttpClient client = new HttpClient(List.of(server.uri()), null)) {
      long start = System.nanoTime();
      assertThatThrownBy(() -> client.send(new HttpRequest("GET", "/x"), in(100), 10))
          .isInstanceOfSatisfying(NoServerException.class,
              e -> assertThat(e.failures()).extracting(NoServerException.Failure::kind).containsExactly(Kind.SILENT))
          .hasMessageContaining("no answer within ");
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(95), Duration.ofSeconds(5));
    }
  }

  @Test
  void givesUpWritingAtTheDeadline() throws IOException {
    try (ServerSocket deaf = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        HttpClient client = new HttpClient(List.of(URI.create("http://127.0.0.1:" + deaf.getLocalPort())), null)) {
      HttpRequest large = new HttpRequest("PUT", "/x").body(new byte[32 << 20]);
      assertThatThrownBy(() -> client.send(large, in(200), 10)).isInstanceOf(NoServerException.class);
    }
  }

  @Test
  void goesOnToTheNextServerAndStaysThere() {
    try (
        ScriptedServer down =
            new ScriptedServer("HTTP/1.1 503 x\r\nHawser-Detail: shutting down\r\nContent-Length: 0\r\n\r\n");
        ScriptedServer up = new ScriptedServer(OK, OK);
        HttpClient client = new HttpClient(List.of(down.uri(), up.uri()), null)) {
      client.send(new HttpRequest("GET", "/1"), in(5_000), 10);
      client.send(new HttpRequest("GET", "/2"), in(5_000), 10);

      assertThat(down.requests).hasSize(1);
      assertThat(up.requests).hasSize(2);
    }
  }

  @Test
  void saysWhatEachServerSaid() throws IOException {
    int closedPort;
    try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      closedPort = closed.getLocalPort();
    }
    try (
        ScriptedServer down =
            new ScriptedServer("HTTP/1.1 503 x\r\nHawser-Detail: store is away\r\nContent-Length: 0\r\n\r\n");
        HttpClient client =
            new HttpClient(List.of(down.uri(), URI.create("http://127.0.0.1:" + closedPort)), null)) {
      assertThatThrownBy(() -> client.send(new HttpRequest("GET", "/x"), in(5_000), 10))
          .isInstanceOfSatisfying(NoServerException.class,
              e -> assertThat(e.failures()).extracting(NoServerException.Failure::kind).containsExactly(Kind.REFUSES,
                  Kind.UNREACHABLE))
          .hasMessageContaining("503 store is away").hasMessageContaining("refused");
    }
  }

  @Test
  void refusesAnswersThatAreNotHttp() {
    String tooLong = "HTTP/1.1 200 " + "x".repeat(20_000) + "\r\n\r\n";
    StringBuilder headers = new StringBuilder("HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 200; i++) {
      headers.append("H").append(i).append(": x\r\n");
    }
    for (String bad : List.of("SSH-2.0-OpenSSH_9\r\n", tooLong, headers + "\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + "y".repeat(5000))) {
      try (ScriptedServer server = new ScriptedServer(bad + "Connection: close")) {
        assertThatThrownBy(() -> get(server)).as(bad).isInstanceOf(NoServerException.class);
      }
    }
  }

  @Test
  void neverHangsNorThrowsAnythingElseOnRandomAnswers() {
    Random random = new Random(4);
    String[] parts =
        {"HTTP/1.1 ", "200", " OK", "\r\n", "Content-Length: ", "7", "Transfer-Encoding: chunked", "\r\n\r\n",
            "abc", ":", "\n", "0", "ff", ";", " ", "\u0000"};
    for (int round = 0; round < 300; round++) {
      StringBuilder script = new StringBuilder(random.nextBoolean() ? "HTTP/1.1 200 OK\r\n" : "");
      for (int i = random.nextInt(12); i >= 0; i--) {
        script.append(parts[random.nextInt(parts.length)]);
      }
      try (ScriptedServer server = new ScriptedServer(script + "Connection: close")) {
        assertThat(get(server)).isNotNull();
      } catch (NoServerException e) {
        assertThat(e.failures()).hasSize(1);
      }
    }
  }

  @Test
  void refusesHeadersThatWouldEndTheLine() {
    assertThatThrownBy(() -> new HttpRequest("GET", "/").header("A", "b\r\nC: d"))
        .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("A");
  }

  @Test
  void readsAStreamLineByLine() throws IOException {
    try (ScriptedServer server =
        new ScriptedServer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nevent: a\r\n2\r\n\n\n\r\n0\r\n\r\n");
        HttpClient client = new HttpClient(List.of(server.uri()), null);
        HttpStream stream = client.stream(new HttpRequest("GET", "/w"), in(5_000))) {
      assertThat(stream.readLine(in(5_000))).isEqualTo("event: a");
      assertThat(stream.readLine(in(5_000))).isEmpty();
      assertThat(stream.readLine(in(5_000))).isNull();
    }
  }

  @Test
  void parsesUrls() {
    assertThat(HttpTarget.of(URI.create("http://h"))).isEqualTo(new HttpTarget("h", 80, false, ""));
    assertThat(HttpTarget.of(URI.create("https://[::1]:9/p/q/"))).isEqualTo(new HttpTarget("::1", 9, true, "/p/q"));
    assertThat(HttpTarget.of(URI.create("http://[::1]:9")).authority()).isEqualTo("[::1]:9");
  }
}
