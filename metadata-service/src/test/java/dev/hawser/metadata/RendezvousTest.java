/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static dev.hawser.metadata.TestClient.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RendezvousTest {
  private final MetadataService service = MetadataService.start(MetadataConfig.builder().eventLoops(2).build());
  private final TestClient client = new TestClient(service.uri());

  @AfterEach
  void stop() {
    client.close();
    service.close();
  }

  @Test
  void everyoneLearnsEveryone() throws InterruptedException, ExecutionException, TimeoutException, IOException {
    int size = 32;
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<HttpResponse<byte[]>>> members = new ArrayList<>();
      for (int rank = 0; rank < size; rank++) {
        int mine = rank;
        members.add(
            threads.submit(
                () -> join("group", size, mine, "", "Accept", mine % 2 == 0 ? "application/octet-stream" : "*/*")));
      }
      for (int rank = 0; rank < size; rank++) {
        HttpResponse<byte[]> met = members.get(rank).get(30, TimeUnit.SECONDS);
        assertThat(met.statusCode()).as(text(met)).isEqualTo(200);
        List<String> data = rank % 2 == 0 ? frames(met.body()) : json(met.body());
        assertThat(data).hasSize(size);
        for (int other = 0; other < size; other++) {
          assertThat(data.get(other)).isEqualTo("data of " + other);
        }
      }
    }
    assertThat(join("group", size, 3, "").statusCode()).as("one who asks again").isEqualTo(200);
  }

  @Test
  void roundsAreMeetingsOfTheirOwn() {
    assertThat(join("barrier", 1, 0, "&round=0").statusCode()).isEqualTo(200);
    assertThat(join("barrier", 2, 0, "&round=1&wait_millis=0").statusCode()).isEqualTo(202);
    assertThat(join("barrier", 2, 1, "&round=1").statusCode()).isEqualTo(200);
  }

  @Test
  void whoIsMissingIsNamedWhenTheTimeIsUp() throws IOException {
    join("group", 4, 2, "&wait_millis=0");
    long began = System.nanoTime();
    HttpResponse<byte[]> late = join("group", 4, 0, "&wait_millis=300");
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(Duration.ofMillis(290));
    assertThat(late.statusCode()).isEqualTo(202);
    assertThat(header(late, "Hawser-Missing-Ranks")).isEqualTo("1,3");
    JsonNode json = new ObjectMapper().readTree(late.body());
    assertThat(json.get("present").intValue()).isEqualTo(2);
    assertThat(json.get("missing")).hasSize(2);
  }

  @Test
  void rivalsAndOtherSizesAreRefused() {
    join("group", 2, 0, "&wait_millis=0");
    HttpResponse<byte[]> rival =
        client.send("POST", "/v1/rendezvous/group?size=2&rank=0&member=rival&wait_millis=0", null);
    assertThat(rival.statusCode()).isEqualTo(409);
    assertThat(header(rival, "Hawser-Problem")).isEqualTo("rank-taken");
    assertThat(header(rival, "Hawser-Detail")).contains("held by member-0");
    HttpResponse<byte[]> size = join("group", 3, 1, "&wait_millis=0");
    assertThat(size.statusCode()).isEqualTo(409);
    assertThat(header(size, "Hawser-Detail")).contains("a meeting of 2, not of 3");
    assertThat(join("group", 2, 1, "").statusCode()).as("the meeting goes on").isEqualTo(200);
  }

  @Test
  void badInput() {
    for (String query : List.of("size=2&rank=0", "size=2&member=a", "rank=0&member=a", "size=0&rank=0&member=a",
        "size=2&rank=2&member=a", "size=5000&rank=0&member=a", "size=2&rank=0&member=a%20b",
        "size=1&rank=0&member=a&wait_millis=60001", "size=1&rank=0&member=a&round=18446744073709551615")) {
      HttpResponse<byte[]> refused = client.send("POST", "/v1/rendezvous/group?" + query, null);
      assertThat(refused.statusCode()).as(query).isEqualTo(400);
    }
    HttpResponse<byte[]> large =
        client.post("/v1/rendezvous/group?size=1&rank=0&member=a", "application/octet-stream", "x".repeat(4097));
    assertThat(large.statusCode()).isEqualTo(413);
    HttpResponse<byte[]> text = client.post("/v1/rendezvous/group?size=1&rank=0&member=a", "text/plain", "x");
    assertThat(text.statusCode()).isEqualTo(415);
  }

  private HttpResponse<byte[]> join(String name, int size, int rank, String more, String... headers) {
    String[] all = Arrays.copyOf(headers, headers.length + 2);
    all[headers.length] = "Content-Type";
    all[headers.length + 1] = "application/octet-stream";
    return client.send(
        "POST",
        "/v1/rendezvous/" + name + "?size=" + size + "&rank=" + rank + "&member=member-" + rank + more,
        ("data of " + rank).getBytes(StandardCharsets.US_ASCII),
        all);
  }

  private static List<String> frames(byte[] body) {
    ByteBuffer in = ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN);
    List<String> data = new ArrayList<>();
    while (in.hasRemaining()) {
      byte[] bytes = new byte[in.getInt()];
      in.get(bytes);
      data.add(new String(bytes, StandardCharsets.US_ASCII));
    }
    return data;
  }

  private static List<String> json(byte[] body) throws IOException {
    List<String> data = new ArrayList<>();
    for (JsonNode member : new ObjectMapper().readTree(body).get("members")) {
      data.add(new String(member.get("data").binaryValue(), StandardCharsets.US_ASCII));
    }
    return data;
  }
}
