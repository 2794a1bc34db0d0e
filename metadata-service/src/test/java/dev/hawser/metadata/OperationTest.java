/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static dev.hawser.metadata.TestClient.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

/** What the one who runs the service sees of it. */
class OperationTest {
  private static final String HALF_A_PUBLICATION = """
      PUT /v1/agents/late HTTP/1.1\r
      Host: x\r
      Content-Type: application/octet-stream\r
      Hawser-Epoch: 1\r
      Content-Length: 10\r
      \r
      01234""";

  @Test
  void countsWhatItAnswers() {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        TestClient client = new TestClient(service.uri());
        WatchReader watch = client.watch("")) {
      watch.take();
      client.publish("a", 1, "x");
      client.publish("b", 1, "x");
      client.publish("a", 0, "x");
      client.get("/nowhere");
      HttpResponse<byte[]> metrics = client.get("/metrics");
      assertThat(header(metrics, "Content-Type")).startsWith("text/plain; version=0.0.4");
      assertThat(text(metrics))
          .contains("hawser_metadata_agents 2.0")
          .contains("hawser_metadata_watchers 1.0")
          .contains("hawser_metadata_requests_total{operation=\"PUT /v1/agents/{name}\",status=\"2xx\"} 2.0")
          .contains("hawser_metadata_requests_total{operation=\"none\",status=\"4xx\"} 1.0")
          .contains("hawser_metadata_request_duration_seconds_count{operation=\"PUT /v1/agents/{name}\"}")
          .contains("jvm_memory_used_bytes");
    }
  }

  @Test
  void logsEachRequestWithItsId() throws InterruptedException {
    try (CapturedLog log = new CapturedLog("dev.hawser.metadata.access");
        MetadataService service = MetadataService.start(MetadataConfig.defaults());
        TestClient client = new TestClient(service.uri())) {
      client.publish("a", 1, "x", "Hawser-Request-Id", "mine-7");
      String line;
      do {
        LogRecord next = log.lines().poll(20, TimeUnit.SECONDS);
        assertThat(next).as("the request's line").isNotNull();
        line = next.getMessage();
      } while (!line.startsWith("request_id=mine-7 "));
      assertThat(line)
          .matches("request_id=mine-7 peer=\\S+ subject=\\S+ method=PUT path='/v1/agents/a' status=201 us=[0-9]+");
    }
  }

  @Test
  void clientThatGoesAwayIsNoFaultOfTheService() throws IOException, InterruptedException {
    try (CapturedLog log = new CapturedLog("dev.hawser.metadata.http.Front");
        MetadataService service = MetadataService.start(MetadataConfig.defaults());
        TestClient client = new TestClient(service.uri())) {
      try (Socket leaving = new Socket(service.uri().getHost(), service.port())) {
        leaving.getOutputStream().write(HALF_A_PUBLICATION.getBytes(StandardCharsets.US_ASCII));
        client.get("/health/live");
      }

      LogRecord line = log.lines().poll(20, TimeUnit.SECONDS);
      assertThat(line).as("it is noticed").isNotNull();
      assertThat(line.getLevel()).isEqualTo(Level.FINE);
      assertThat(client.get("/health/ready").statusCode()).isEqualTo(200);
      assertThat(log.lines()).isEmpty();
    }
  }

  @Test
  void requestThatRunsIsAnsweredBeforeTheEnd()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    MetadataService service = MetadataService.start(MetadataConfig.defaults());
    try (TestClient client = new TestClient(service.uri());
        WatchReader watch = client.watch("");
        Socket late = new Socket(service.uri().getHost(), service.port());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      watch.take();
      late.setSoTimeout(20_000);
      late.getOutputStream().write(HALF_A_PUBLICATION.getBytes(StandardCharsets.US_ASCII));
      // On another connection, but the loop reads in order of arrival: the half has been seen.
      client.get("/health/live");
      Future<?> closing = threads.submit(service::close);
      assertThat(watch.take().event()).isEqualTo("bye");
      assertThat(watch.next()).isNull();
      late.getOutputStream().write("56789".getBytes(StandardCharsets.US_ASCII));
      String answer = new String(late.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertThat(answer).startsWith("HTTP/1.1 201 Created");
      closing.get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void servesOnForAWhileAfterItSaidThatItIsNotReady()
      throws InterruptedException, ExecutionException, TimeoutException {
    Duration delay = Duration.ofSeconds(2);
    MetadataService service = MetadataService.start(MetadataConfig.builder().shutdownDelay(delay).build());
    try (TestClient client = new TestClient(service.uri());
        WatchReader watch = client.watch("");
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      watch.take();
      assertThat(client.get("/health/ready").statusCode()).isEqualTo(200);
      long began = System.nanoTime();
      Future<?> closing = threads.submit(service::close);
      HttpResponse<byte[]> ready;
      do {
        ready = client.get("/health/ready");
      } while (ready.statusCode() == 200);
      assertThat(header(ready, "Hawser-Problem")).isEqualTo("shutting-down");
      assertThat(client.publish("late", 1, "x").statusCode()).isEqualTo(201);
      assertThat(watch.take().event()).as("watches go on, too").isEqualTo("put");
      assertThat(watch.take().event()).isEqualTo("bye");
      closing.get(20, TimeUnit.SECONDS);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(delay);
    }
  }

  @Test
  void memberThatWaitsIsSentElsewhere() throws InterruptedException, ExecutionException, TimeoutException {
    MetadataService service = MetadataService.start(MetadataConfig.defaults());
    try (TestClient client = new TestClient(service.uri());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<HttpResponse<byte[]>> waiting =
          threads.submit(() -> client.send("POST", "/v1/rendezvous/group?size=3&rank=0&member=m0", null));
      HttpResponse<byte[]> look;
      do {
        look = client.send("POST", "/v1/rendezvous/group?size=3&rank=1&member=m1&wait_millis=0", null);
      } while (!header(look, "Hawser-Missing-Ranks").equals("2"));
      service.close();
      assertThat(waiting.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(202);
    }
  }

  @Test
  void requestThatNeverEndsHoldsItNoLongerThanTheGrace() throws IOException {
    MetadataConfig config = MetadataConfig.builder().shutdownGrace(Duration.ofMillis(300)).build();
    MetadataService service = MetadataService.start(config);
    try (Socket stuck = new Socket(service.uri().getHost(), service.port());
        TestClient client = new TestClient(service.uri())) {
      stuck.getOutputStream().write(HALF_A_PUBLICATION.getBytes(StandardCharsets.US_ASCII));
      client.get("/health/live");
      long began = System.nanoTime();
      service.close();
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(5));
    }
  }

  @Test
  void closedServiceGivesItsPortBack() throws IOException {
    MetadataService service = MetadataService.start(MetadataConfig.defaults());
    int port = service.port();
    service.close();
    service.close();
    try (Socket socket = new Socket()) {
      assertThatThrownBy(() -> socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000))
          .isInstanceOf(ConnectException.class);
    }
    try (MetadataService again = MetadataService.start(MetadataConfig.builder().port(port).build())) {
      assertThat(again.port()).isEqualTo(port);
    }
  }

  @Test
  void listensOnIpv6() {
    try (MetadataService service = MetadataService.start(MetadataConfig.builder().host("::1").build());
        TestClient client = new TestClient(service.uri())) {
      assertThat(service.uri().toString()).isEqualTo("http://[::1]:" + service.port());
      assertThat(client.get("/health/ready").statusCode()).isEqualTo(200);
    }
  }
}
