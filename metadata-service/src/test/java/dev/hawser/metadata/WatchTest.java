/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.WatchReader.Sse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WatchTest {
  private static final long EPOCH = 1_760_000_000_000_000L;
  private static final int HISTORY = 64;

  private final MetadataService service =
      MetadataService.start(
          MetadataConfig.builder()
              .eventLoops(2)
              .historyEvents(HISTORY)
              .watchKeepalive(Duration.ofMillis(50))
              .build());
  private final TestClient client = new TestClient(service.uri());

  @AfterEach
  void stop() {
    client.close();
    service.close();
  }

  @Test
  void tellsPutDeleteAndExpire() {
    try (WatchReader watch = client.watch("")) {
      assertThat(watch.take().event()).isEqualTo("ready");
      String revision = header(client.publish("a", EPOCH, "x", "Hawser-Address", "h:1"), "Hawser-Revision");
      assertThat(watch.take())
          .isEqualTo(
              new Sse(
                  "put",
                  revision,
                  "{\"name\":\"a\",\"epoch\":\"" + EPOCH + "\",\"revision\":\"" + revision
                      + "\",\"address\":\"h:1\"}"));
      client.delete("a", EPOCH);
      assertThat(watch.take().event()).isEqualTo("delete");
      client.publish("a", EPOCH, "x", "Hawser-Ttl-Millis", "100");
      assertThat(watch.take().event()).isEqualTo("put");
      assertThat(watch.take().event()).isEqualTo("expire");
    }
  }

  @Test
  void expiryIsToldPromptly() {
    try (WatchReader watch = client.watch("")) {
      watch.take();
      client.publish("a", EPOCH, "x", "Hawser-Ttl-Millis", "200");
      assertThat(watch.take().event()).isEqualTo("put");
      long published = System.nanoTime();
      assertThat(watch.take().event()).isEqualTo("expire");
      assertThat(Duration.ofNanos(System.nanoTime() - published)).isLessThan(Duration.ofMillis(1200));
    }
  }

  @Test
  void plainFormNeedsNoParser() {
    try (WatchReader watch = client.watch("?form=plain")) {
      assertThat(watch.take().data()).isEmpty();
      client.publish("a", EPOCH, "x");
      assertThat(watch.take().data()).isEqualTo("a " + EPOCH);
    }
  }

  @Test
  void filtersByNameAndLabel() {
    try (WatchReader names = client.watch("?names=b,c&form=plain");
        WatchReader labels = client.watch("?label=role:decode&form=plain")) {
      names.take();
      labels.take();
      client.publish("a", EPOCH, "x");
      client.publish("b", EPOCH, "x");
      client.publish("d", EPOCH, "x", "Hawser-Labels", "role=decode");
      client.publish("c", EPOCH, "x");
      client.delete("d", EPOCH);
      assertThat(names.take().data()).startsWith("b ");
      assertThat(names.take().data()).startsWith("c ");
      assertThat(labels.take().event()).isEqualTo("put");
      assertThat(labels.take()).extracting(Sse::event, Sse::data).containsExactly("delete", "d " + EPOCH);
    }
  }

  @Test
  void resumesWhereItWas() {
    String seen = header(client.publish("a", EPOCH, "x"), "Hawser-Revision");
    client.publish("b", EPOCH, "x");
    client.delete("a", EPOCH);
    try (WatchReader byQuery = client.watch("?form=plain&revision=" + seen);
        WatchReader byHeader = client.watch("?form=plain", "Last-Event-ID", seen)) {
      for (WatchReader watch : new WatchReader[] {byQuery, byHeader}) {
        assertThat(watch.take()).extracting(Sse::event, Sse::id).containsExactly("ready", seen);
        assertThat(watch.take()).extracting(Sse::event, Sse::data).containsExactly("put", "b " + EPOCH);
        assertThat(watch.take()).extracting(Sse::event, Sse::data).containsExactly("delete", "a " + EPOCH);
      }
    }
  }

  @Test
  void listAndThenWatchMissesNothing() {
    String revision = header(client.get("/v1/agents"), "Hawser-Revision");
    client.publish("a", EPOCH, "x");
    try (WatchReader watch = client.watch("?form=plain&revision=" + revision)) {
      watch.take();
      assertThat(watch.take().data()).isEqualTo("a " + EPOCH);
    }
  }

  @Test
  void resumingOverMoreThanTheHistoryIsAReset() {
    String seen = header(client.publish("a", EPOCH, "0"), "Hawser-Revision");
    for (int i = 1; i <= HISTORY + 1; i++) {
      client.publish("a", EPOCH, Integer.toString(i));
    }
    try (WatchReader watch = client.watch("?revision=" + seen)) {
      Sse reset = watch.take();
      assertThat(reset.event()).isEqualTo("reset");
      assertThat(reset.revision()).isEqualTo(Long.parseLong(seen) + HISTORY + 1);
      client.publish("a", EPOCH, "after");
      assertThat(watch.take().revision()).isEqualTo(reset.revision() + 1);
    }
  }

  @Test
  void revisionOfAnotherLifeIsAReset() {
    try (WatchReader past = client.watch("?revision=1");
        WatchReader future = client.watch("?revision=18446744073709551615")) {
      assertThat(past.take().event()).isEqualTo("reset");
      assertThat(future.take().event()).isEqualTo("reset");
    }
  }

  @Test
  void quietWatchShowsLife() {
    try (WatchReader watch = client.watch("")) {
      watch.take();
      Set<String> lines = new HashSet<>();
      for (int i = 0; i < 6; i++) {
        lines.add(String.valueOf(watch.line()));
      }
      assertThat(lines).contains(": still here");
    }
  }

  @Test
  void slowWatcherIsToldThatItLost() throws InterruptedException, ExecutionException, TimeoutException {
    MetadataConfig config = MetadataConfig.builder().historyEvents(HISTORY).build();
    // More than a loopback connection holds on its way.
    int each = 5_000;
    String address = "h".repeat(255);
    try (MetadataService quiet = MetadataService.start(config);
        TestClient other = new TestClient(quiet.uri());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        WatchReader slow = other.watch("")) {
      assertThat(slow.take().event()).isEqualTo("ready");
      List<Future<?>> publishers = new ArrayList<>();
      for (String name : List.of("a", "b", "c", "d")) {
        publishers.add(threads.submit(() -> publishMany(other, name, each, address)));
      }
      for (Future<?> publisher : publishers) {
        publisher.get(60, TimeUnit.SECONDS);
      }
      long last = Long.parseLong(header(other.get("/v1/agents"), "Hawser-Revision"));
      int told = 0;
      Sse sse = slow.take();
      while (!sse.event().equals("reset")) {
        told++;
        sse = slow.take();
      }
      assertThat(told).isLessThan(4 * each);
      assertThat(sse.revision()).isEqualTo(last);
      other.delete("a", EPOCH);
      assertThat(slow.take()).extracting(Sse::event, Sse::revision).containsExactly("delete", last + 1);
    }
  }

  private static void publishMany(TestClient client, String name, int times, String address) {
    for (int i = 0; i < times; i++) {
      client.publish(name, EPOCH, Integer.toString(i), "Hawser-Address", address);
    }
  }

  @Test
  void closingSaysGoodbye() {
    try (WatchReader watch = client.watch("")) {
      watch.take();
      service.close();
      assertThat(watch.take().event()).isEqualTo("bye");
      assertThat(watch.next()).isNull();
    }
  }
}
