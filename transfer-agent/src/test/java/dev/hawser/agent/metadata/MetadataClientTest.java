/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.MetadataWatch.Kind;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against the real service. */
class MetadataClientTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private MetadataService service;
  private MetadataClient client;

  @BeforeEach
  void start() {
    service = MetadataService.start(MetadataConfig.defaults());
    client = client(service.uri());
  }

  @AfterEach
  void stop() {
    client.close();
    service.close();
  }

  private static MetadataClient client(URI... urls) {
    return new MetadataClient(List.of(urls), TIMEOUT, Secret.NONE, null);
  }

  private static Publication publication(String name, long epoch, OptionalLong expected, int... blob) {
    byte[] bytes = new byte[blob.length];
    for (int i = 0; i < blob.length; i++) {
      bytes[i] = (byte) blob[i];
    }
    return new Publication(name, epoch, Duration.ofSeconds(30), "10.0.0.7:7301", Map.of("role", "prefill"),
        "{\"a\":1}", expected, bytes);
  }

  @Test
  void publishesFetchesRenewsAndDeletes() {
    long revision = client.publish(publication("a", 5, OptionalLong.of(0), 1, 2, 3));

    MetadataEntry entry = client.fetch("a").orElseThrow();
    assertThat(entry.name()).isEqualTo("a");
    assertThat(entry.epoch()).isEqualTo(5);
    assertThat(entry.revision()).isEqualTo(revision);
    assertThat(entry.address()).isEqualTo("10.0.0.7:7301");
    assertThat(entry.blob()).containsExactly(1, 2, 3);
    assertThat(client.peek("a")).contains(new MetadataHead(5, "10.0.0.7:7301"));
    assertThat(client.renew("a", 5, "")).isTrue();
    assertThat(client.publish(publication("a", 5, OptionalLong.empty(), 4))).isGreaterThan(revision);
    assertThat(client.delete("a", 5)).isTrue();
    assertThat(client.delete("a", 5)).isFalse();
    assertThat(client.fetch("a")).isEmpty();
    assertThat(client.peek("a")).isEmpty();
    assertThat(client.renew("a", 5, "")).isFalse();
  }

  @Test
  void appendsAndFetchesTheRest() {
    client.publish(publication("a", 5, OptionalLong.empty(), 1, 2));
    KnownBlob known = KnownBlob.of(5, new byte[] {1, 2});

    assertThat(client.append("a", 5, 2, new byte[] {3})).isPresent();
    assertThat(client.append("a", 5, 2, new byte[] {4})).as("another length").isEmpty();
    assertThat(client.append("b", 5, 2, new byte[] {4})).as("no entry").isEmpty();
    assertThatThrownBy(() -> client.append("a", 4, 3, new byte[] {4})).isInstanceOf(EpochConflictException.class);
    MetadataEntry rest = client.fetch("a", known).orElseThrow();
    assertThat(rest.offset()).isEqualTo(2);
    assertThat(rest.blob()).containsExactly(3);
    assertThat(client.fetch("a", known.append(rest.blob())).orElseThrow().blob()).isEmpty();
    MetadataEntry whole = client.fetch("a", KnownBlob.of(5, new byte[] {2, 1})).orElseThrow();
    assertThat(whole.offset()).isZero();
    assertThat(whole.blob()).containsExactly(1, 2, 3);
  }

  @Test
  void keepsEpochsUnsigned() {
    client.publish(publication("a", -2, OptionalLong.empty(), 1));

    assertThat(client.fetch("a").orElseThrow().epoch()).isEqualTo(-2);
  }

  @Test
  void tellsWhoStandsInTheWay() {
    client.publish(publication("a", 5, OptionalLong.empty(), 1));

    assertThatThrownBy(() -> client.publish(publication("a", 4, OptionalLong.empty(), 1)))
        .isInstanceOfSatisfying(EpochConflictException.class, e -> {
          assertThat(e.superseded()).isTrue();
          assertThat(e.recordedEpoch()).isEqualTo(5);
          assertThat(e.recordedAddress()).isEqualTo("10.0.0.7:7301");
        });
    assertThatThrownBy(() -> client.publish(publication("a", 6, OptionalLong.of(0), 1)))
        .isInstanceOfSatisfying(EpochConflictException.class, e -> assertThat(e.superseded()).isFalse());
    assertThatThrownBy(() -> client.renew("a", 4, "")).isInstanceOf(EpochConflictException.class);
  }

  @Test
  void namesTheFieldThatTheServiceRefuses() {
    Publication wrong = new Publication("a", 5, Duration.ofSeconds(30), "", Map.of("no spaces", "x"), "",
        OptionalLong.empty(), new byte[] {1});

    assertThatThrownBy(() -> client.publish(wrong)).isInstanceOf(MetadataException.class)
        .hasMessageContaining("bad-request").hasMessageContaining("PUT /v1/agents/a");
  }

  @Test
  void watchesFromNowOrFromARevision() throws IOException {
    long first = client.publish(publication("a", 5, OptionalLong.empty(), 1));
    try (MetadataWatch watch = client.watch(Set.of("a", "b"), OptionalLong.of(first))) {
      assertThat(watch.next().kind()).isEqualTo(Kind.READY);
      client.publish(publication("c", 9, OptionalLong.empty(), 1));
      client.publish(publication("b", 7, OptionalLong.empty(), 1));
      MetadataWatch.Event put = watch.next();
      assertThat(put.kind()).isEqualTo(Kind.PUT);
      assertThat(put.name()).isEqualTo("b");
      assertThat(put.epoch()).isEqualTo(7);
      assertThat(put.revision().orElseThrow()).isGreaterThan(first);
      client.delete("a", 5);
      assertThat(watch.next().kind()).isEqualTo(Kind.DELETE);
    }
  }

  @Test
  void goesToAnotherServiceWhenOneIsDown() throws IOException {
    int closedPort;
    try (java.net.ServerSocket closed = new java.net.ServerSocket(0)) {
      closedPort = closed.getLocalPort();
    }
    try (MetadataClient failingOver = client(URI.create("http://127.0.0.1:" + closedPort), service.uri())) {
      failingOver.publish(publication("a", 5, OptionalLong.empty(), 1));
      assertThat(failingOver.fetch("a")).isPresent();
    }
    try (MetadataClient nowhere = client(URI.create("http://127.0.0.1:" + closedPort))) {
      assertThatThrownBy(() -> nowhere.fetch("a")).isInstanceOf(MetadataUnavailableException.class)
          .hasMessageContaining("127.0.0.1:" + closedPort).hasMessageContaining("hawser metadata")
          .hasMessageContaining("HAWSER_METADATA");
    }
  }

  @Test
  void silenceIsNotSaidToBeAServiceThatIsNotThere() throws IOException {
    try (java.net.ServerSocket deaf = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress());
        MetadataClient waiting = new MetadataClient(List.of(URI.create("http://127.0.0.1:" + deaf.getLocalPort())),
            Duration.ofMillis(150), Secret.NONE, null)) {
      assertThatThrownBy(() -> waiting.fetch("a")).isInstanceOf(MetadataUnavailableException.class)
          .hasMessageContaining("did not answer in time").hasMessageContaining("no answer within ")
          .hasMessageContaining("HAWSER_METADATA_TIMEOUT (now 150 ms").message()
          .doesNotContain("start one with");
    }
  }

  @Test
  void showsItsToken(@TempDir Path directory) throws IOException {
    Path tokens = Files.writeString(directory.resolve("tokens"), "publish a 0123456789abcdef\n");
    try (MetadataService guarded = MetadataService.start(MetadataConfig.builder().tokens(tokens).build());
        MetadataClient without = client(guarded.uri());
        MetadataClient with =
            new MetadataClient(List.of(guarded.uri()), TIMEOUT, Secret.of("0123456789abcdef"), null)) {
      with.publish(publication("a", 5, OptionalLong.empty(), 1));
      assertThatThrownBy(() -> without.publish(publication("a", 5, OptionalLong.empty(), 1)))
          .isInstanceOf(MetadataException.class).hasMessageContaining("401")
          .hasMessageContaining("HAWSER_METADATA_TOKEN");
      assertThatThrownBy(() -> with.publish(publication("b", 5, OptionalLong.empty(), 1)))
          .isInstanceOf(MetadataException.class).hasMessageContaining("403");
    }
  }
}
