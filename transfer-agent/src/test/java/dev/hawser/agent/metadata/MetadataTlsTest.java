/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.http.TlsSockets;
import dev.hawser.agent.metadata.MetadataWatch.Kind;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An agent's client and a service that asks for certificates. */
class MetadataTlsTest {
  @TempDir
  private static Path folder;
  private static TlsConfig server;
  private static TlsConfig decode;
  private static TlsConfig stranger;
  private static MetadataService service;

  @BeforeAll
  static void start() {
    server = TestCertificates.selfSigned(folder, "server", "ip:127.0.0.1");
    decode = TestCertificates.selfSigned(folder, "decode-0");
    stranger = TestCertificates.selfSigned(folder, "stranger", "ip:127.0.0.1");
    service = MetadataService.start(MetadataConfig.builder()
        .tls(new dev.hawser.metadata.TlsConfig(certificate(server), Objects.requireNonNull(server.privateKey()),
            Optional.of(certificate(decode)), true))
        .build());
  }

  @AfterAll
  static void stop() {
    service.close();
  }

  private static Path certificate(TlsConfig of) {
    return Objects.requireNonNull(of.certificate());
  }

  private static MetadataClient client(TlsConfig shown, TlsConfig trusted) {
    return new MetadataClient(List.of(service.uri()), Duration.ofSeconds(10), Secret.NONE,
        TlsSockets.factory(new TlsConfig(shown.certificate(), shown.privateKey(), trusted.certificate())));
  }

  private static Publication publication(String name) {
    return new Publication(name, 5, Duration.ofSeconds(30), "", Map.of(), "", OptionalLong.empty(), new byte[] {1});
  }

  @Test
  void publishesTheNameOfItsCertificateAndWatches() throws IOException {
    try (MetadataClient client = client(decode, server)) {
      client.publish(publication("decode-0"));
      assertThat(client.fetch("decode-0")).isPresent();
      try (MetadataWatch watch = client.watch(Set.of("decode-0"), OptionalLong.empty())) {
        assertThat(watch.next().kind()).isEqualTo(Kind.READY);
        client.append("decode-0", 5, 1, new byte[] {2});
        assertThat(watch.next().kind()).isEqualTo(Kind.PUT);
      }
      assertThatThrownBy(() -> client.publish(publication("decode-1"))).isInstanceOf(MetadataException.class)
          .hasMessageContaining("403");
    }
  }

  @Test
  void doesNotTalkToAServiceThatItDoesNotTrust() {
    try (MetadataClient client = client(decode, stranger)) {
      assertThatThrownBy(() -> client.fetch("decode-0")).isInstanceOf(MetadataUnavailableException.class)
          .hasMessageContaining("certification path");
    }
  }

  @Test
  void isNotHeardWithACertificateThatTheServiceDoesNotKnow() {
    try (MetadataClient client = client(stranger, server)) {
      assertThatThrownBy(() -> client.fetch("decode-0")).isInstanceOf(MetadataUnavailableException.class);
    }
  }
}
