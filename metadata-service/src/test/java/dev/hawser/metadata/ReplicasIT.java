/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.WatchReader.Sse;
import dev.hawser.metadata.etcd.EtcdProcess;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two services on one etcd. */
class ReplicasIT {
  private static final long EPOCH = 1_760_000_000_000_000L;
  private static final AtomicInteger PREFIXES = new AtomicInteger();

  @TempDir
  private static Path folder;
  private static EtcdProcess etcd;

  @BeforeAll
  static void startEtcd() throws IOException {
    assumeTrue(EtcdProcess.binary().isPresent(), EtcdProcess.HOW_TO_ENABLE);
    etcd = EtcdProcess.start(folder, 1);
  }

  @AfterAll
  static void stopEtcd() {
    if (etcd != null) {
      etcd.close();
    }
  }

  @Test
  void watchGoesOnAtAnotherReplica() {
    MetadataConfig config = config();
    try (MetadataService first = awaitStart(config);
        MetadataService second = MetadataService.start(config);
        TestClient one = new TestClient(first.uri());
        TestClient two = new TestClient(second.uri())) {
      one.publish("a", EPOCH, "x");
      String revision;
      try (WatchReader watch = two.watch("?form=plain")) {
        watch.take();
        assertThat(one.publish("b", EPOCH, "x").statusCode()).isEqualTo(201);
        Sse put = nextOf(watch, "b");
        assertThat(two.fetch("b").statusCode()).isEqualTo(200);
        revision = put.id();
      }
      two.delete("b", EPOCH);
      one.publish("c", EPOCH, "x");
      try (WatchReader resumed = one.watch("?form=plain&revision=" + revision)) {
        assertThat(resumed.take()).extracting(Sse::event, Sse::id).containsExactly("ready", revision);
        assertThat(resumed.take()).extracting(Sse::event, Sse::data).containsExactly("delete", "b " + EPOCH);
        assertThat(resumed.take()).extracting(Sse::event, Sse::data).containsExactly("put", "c " + EPOCH);
      }
    }
  }

  @Test
  void listsRevisionIsGoodForAWatchElsewhere() {
    MetadataConfig config = config();
    try (MetadataService first = awaitStart(config);
        MetadataService second = MetadataService.start(config);
        TestClient one = new TestClient(first.uri());
        TestClient two = new TestClient(second.uri())) {
      for (int i = 0; i < 20; i++) {
        one.publish("a", EPOCH + i, "x");
        String revision = header(one.get("/v1/agents"), "Hawser-Revision");
        try (WatchReader watch = two.watch("?form=plain&revision=" + revision)) {
          assertThat(watch.take().event()).isEqualTo("ready");
          one.publish("b", EPOCH + i, "x");
          assertThat(watch.take().data()).as("nothing that the list had").isEqualTo("b " + (EPOCH + i));
        }
      }
    }
  }

  @Test
  void revisionOfAnotherStoreIsAReset() {
    try (MetadataService service = awaitStart(config());
        TestClient client = new TestClient(service.uri());
        WatchReader watch = client.watch("?revision=1760000000000000")) {
      assertThat(watch.take().event()).isEqualTo("reset");
      client.publish("a", EPOCH, "x");
      assertThat(watch.take().event()).isEqualTo("put");
    }
  }

  @Test
  void resumingOverWhatEtcdCompactedAwayIsAReset() throws IOException, InterruptedException {
    MetadataConfig config = config();
    try (MetadataService first = awaitStart(config); TestClient one = new TestClient(first.uri())) {
      String old = header(one.publish("a", EPOCH, "x"), "Hawser-Revision");
      one.publish("b", EPOCH, "x");
      String present = header(one.publish("c", EPOCH, "x"), "Hawser-Revision");
      etcd.compact(Long.parseLong(present));
      // A replica that was not there to remember it.
      try (MetadataService second = MetadataService.start(config);
          TestClient two = new TestClient(second.uri());
          WatchReader over = two.watch("?form=plain&revision=" + old);
          WatchReader behind = two.watch("?form=plain&revision=" + present)) {
        Sse reset = over.take();
        assertThat(reset.event()).isEqualTo("reset");
        assertThat(Long.parseUnsignedLong(reset.id())).isGreaterThanOrEqualTo(Long.parseUnsignedLong(present));
        assertThat(behind.take().event()).as("nothing was lost").isEqualTo("ready");
        one.publish("d", EPOCH, "x");
        assertThat(nextOf(over, "d").event()).isEqualTo("put");
        assertThat(behind.take()).extracting(Sse::event, Sse::data).containsExactly("put", "d " + EPOCH);
      }
    }
  }

  @Test
  void etcdGoneIsAReasonAndNotTheEnd() throws IOException {
    try (EtcdProcess own = EtcdProcess.start(folder.resolve("own"), 1);
        MetadataService service = awaitStart(config(own));
        TestClient client = new TestClient(service.uri());
        WatchReader watch = client.watch("?form=plain")) {
      watch.take();
      client.publish("a", EPOCH, "x");
      assertThat(watch.take().event()).isEqualTo("put");
      own.kill(0);
      HttpResponse<byte[]> fetched = client.fetch("a");
      assertThat(fetched.statusCode()).isEqualTo(503);
      assertThat(header(fetched, "Hawser-Problem")).isEqualTo("store-unavailable");
      assertThat(header(fetched, "Hawser-Detail")).contains("see whether a majority of its members runs");
      assertThat(header(fetched, "Retry-After")).isEqualTo("1");
      assertThat(client.get("/health/ready").statusCode()).isEqualTo(503);
      assertThat(client.get("/health/live").statusCode()).isEqualTo(200);
      own.restart(0);
      awaitStatus(client, "/health/ready", 200);
      assertThat(client.fetch("a").statusCode()).isEqualTo(200);
      client.publish("b", EPOCH, "x");
      assertThat(nextOf(watch, "b").event()).isEqualTo("put");
    }
  }

  @Test
  void largeBlobsAreRefusedBeforeEtcdSeesThem() {
    try (MetadataService service = awaitStart(config());
        TestClient client = new TestClient(service.uri())) {
      assertThat(client.publish("a", EPOCH, "x".repeat(1 << 20)).statusCode()).isEqualTo(201);
      assertThat(client.publish("a", EPOCH, "x".repeat((1 << 20) + 1)).statusCode()).isEqualTo(413);
      assertThat(client.fetch("a").body()).hasSize(1 << 20);
    }
  }

  @Test
  void wrongStoresAreExplained() {
    assertThatThrownBy(() -> StoreConfig.parse("redis")).hasMessageContaining("write memory, or etcd:");
    MetadataConfig config = MetadataConfig.builder().store(StoreConfig.parse("etcd:http://127.0.0.1:1")).build();
    assertThatThrownBy(() -> MetadataService.start(config))
        .isInstanceOf(MetadataException.class)
        .hasMessageStartingWith("The metadata service cannot start: etcd at http://127.0.0.1:1 cannot be used");
    MetadataConfig noPort = MetadataConfig.builder().store(StoreConfig.parse("etcd:localhost")).build();
    assertThatThrownBy(() -> MetadataService.start(noPort)).hasMessageContaining("no URL with a port");
  }

  private static MetadataConfig config() {
    return config(etcd);
  }

  private static MetadataConfig config(EtcdProcess on) {
    return MetadataConfig.builder()
        .store(
            new StoreConfig.Etcd(
                on.endpoints(),
                "/replicas" + PREFIXES.incrementAndGet() + "/",
                Optional.empty(),
                Optional.empty(),
                Optional.empty()))
        .build();
  }

  /** etcd needs a moment until it has a leader. */
  private static MetadataService awaitStart(MetadataConfig config) {
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (true) {
      try {
        return MetadataService.start(config);
      } catch (MetadataException notYet) {
        if (System.nanoTime() > end) {
          throw notYet;
        }
      }
    }
  }

  private static void awaitStatus(TestClient client, String path, int status) {
    long end = System.nanoTime() + Duration.ofSeconds(40).toNanos();
    int seen;
    do {
      seen = client.get(path).statusCode();
    } while (seen != status && System.nanoTime() < end);
    assertThat(seen).isEqualTo(status);
  }

  private static Sse nextOf(WatchReader watch, String name) {
    Sse sse = watch.take();
    while (!sse.data().startsWith(name + " ")) {
      sse = watch.take();
    }
    return sse;
  }
}
