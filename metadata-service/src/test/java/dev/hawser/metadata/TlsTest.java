/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {
  @TempDir
  private static Path folder;
  private static TestCertificates server;
  private static TestCertificates renewed;
  private static TestCertificates decode;
  private static TestCertificates stranger;

  @BeforeAll
  static void makeCertificates() throws IOException, GeneralSecurityException, InterruptedException {
    server = TestCertificates.make(folder, "server", "ip:127.0.0.1");
    renewed = TestCertificates.make(folder, "renewed", "ip:127.0.0.1");
    decode = TestCertificates.make(folder, "decode-0", "dns:decode-0.rack7", "dns:*.rack8");
    stranger = TestCertificates.make(folder, "stranger", "dns:stranger");
  }

  @Test
  void speaksTls() throws IOException, GeneralSecurityException {
    MetadataConfig config =
        MetadataConfig.builder().tls(TlsConfig.of(server.certificate(), server.key())).build();
    try (MetadataService service = MetadataService.start(config);
        TestClient client = new TestClient(service.uri(), TestCertificates.context(server, null))) {
      assertThat(service.uri().getScheme()).isEqualTo("https");
      assertThat(client.publish("a", 1, "x").statusCode()).isEqualTo(201);
      assertThat(TestClient.text(client.fetch("a"))).isEqualTo("x");
      try (TestClient distrustful = new TestClient(service.uri(), TestCertificates.context(stranger, null))) {
        assertThatThrownBy(() -> distrustful.fetch("a")).hasRootCauseInstanceOf(GeneralSecurityException.class);
      }
      try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), service.port())) {
        plain.setSoTimeout(20_000);
        plain.getOutputStream().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(new String(plain.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
            .doesNotContain("HTTP/1.1");
      }
    }
  }

  @Test
  void certificateGivesItsHolderItsNames() throws IOException, GeneralSecurityException {
    try (MetadataService service = MetadataService.start(mutual(true));
        TestClient holder = new TestClient(service.uri(), TestCertificates.context(server, decode))) {
      assertThat(holder.publish("decode-0", 1, "x").statusCode()).isEqualTo(201);
      assertThat(holder.publish("decode-0.rack7", 1, "x").statusCode()).isEqualTo(201);
      assertThat(holder.publish("x.rack8", 1, "x").statusCode()).as("a host's star is no pattern").isEqualTo(403);
      assertThat(holder.publish("decode-1", 1, "x").statusCode()).isEqualTo(403);
      assertThat(holder.fetch("decode-0").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void withoutACertificateThereIsNoConnection() throws IOException, GeneralSecurityException {
    try (MetadataService service = MetadataService.start(mutual(true));
        TestClient bare = new TestClient(service.uri(), TestCertificates.context(server, null));
        TestClient unknown = new TestClient(service.uri(), TestCertificates.context(server, stranger))) {
      assertThatThrownBy(() -> bare.fetch("a")).hasCauseInstanceOf(IOException.class);
      assertThatThrownBy(() -> unknown.fetch("a")).hasCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void tokenOrCertificate() throws IOException, GeneralSecurityException {
    Path tokens = Files.write(folder.resolve("tokens"), List.of("read * reader-0123456789"));
    MetadataConfig config =
        MetadataConfig.builder()
            .tls(new TlsConfig(server.certificate(), server.key(), Optional.of(decode.certificate()), false))
            .tokens(tokens)
            .build();
    try (MetadataService service = MetadataService.start(config);
        TestClient bare = new TestClient(service.uri(), TestCertificates.context(server, null));
        TestClient holder = new TestClient(service.uri(), TestCertificates.context(server, decode))) {
      assertThat(bare.fetch("a").statusCode()).isEqualTo(401);
      assertThat(bare.get("/v1/agents", "Authorization", "Bearer reader-0123456789").statusCode()).isEqualTo(200);
      assertThat(holder.publish("decode-0", 1, "x").statusCode()).isEqualTo(201);
      assertThat(holder.get("/v1/agents", "Authorization", "Bearer wrong").statusCode())
          .as("a wrong token is not made good by a certificate")
          .isEqualTo(401);
      assertThat(header(bare.fetch("a"), "WWW-Authenticate")).isNotEmpty();
    }
  }

  @Test
  void filesThatAreNoneStopTheStart() throws IOException {
    Path missing = folder.resolve("none.crt");
    assertThatThrownBy(() -> start(TlsConfig.of(missing, server.key())))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("none.crt cannot be read; give the path of a PEM file");
    Path garbage = Files.writeString(folder.resolve("garbage.crt"), "garbage");
    assertThatThrownBy(() -> start(TlsConfig.of(garbage, server.key())))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("garbage.crt cannot be used; give a PEM file");
    assertThatThrownBy(() -> start(TlsConfig.of(server.certificate(), garbage)))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("is not PKCS #8 in PEM");
    assertThatThrownBy(() -> start(TlsConfig.of(server.certificate(), stranger.key())))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("do not belong together; give the key that the certificate was made for");
    assertThatThrownBy(() -> new TlsConfig(server.certificate(), server.key(), Optional.empty(), true))
        .hasMessageContaining("give the file of those that sign them");
  }

  @Test
  void takesARenewedCertificateWithoutARestart() throws IOException, GeneralSecurityException {
    Path certificate = Files.copy(server.certificate(), folder.resolve("live.crt"));
    Path key = Files.copy(server.key(), folder.resolve("live.key"));
    MetadataConfig config = MetadataConfig.builder().tls(TlsConfig.of(certificate, key)).eventLoops(2).build();
    try (MetadataService service = MetadataService.start(config);
        TestClient before = new TestClient(service.uri(), TestCertificates.context(server, null))) {
      assertThat(before.publish("a", 1, "x").statusCode()).isEqualTo(201);

      // The certificate first: until the key follows it fits nothing, and the one before stays.
      Files.copy(renewed.certificate(), certificate, StandardCopyOption.REPLACE_EXISTING);
      assertThat(staysSo(Duration.ofMillis(2_500), () -> shows(service, server))).isTrue();
      Files.copy(renewed.key(), key, StandardCopyOption.REPLACE_EXISTING);
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (!shows(service, renewed)) {
        assertThat(System.nanoTime()).as("the renewed certificate is never shown").isLessThan(deadline);
      }

      assertThat(shows(service, server)).isFalse();
      assertThat(TestClient.text(before.fetch("a"))).as("connections that are open go on").isEqualTo("x");
    }
  }

  private static boolean staysSo(Duration time, BooleanSupplier condition) {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) {
      if (!condition.getAsBoolean()) {
        return false;
      }
    }
    return true;
  }

  /** Whether a new connection is made by whoever trusts only that certificate. */
  private static boolean shows(MetadataService service, TestCertificates trusted) {
    try (TestClient client = new TestClient(service.uri(), TestCertificates.context(trusted, null))) {
      return client.get("/health/live").statusCode() == 200;
    } catch (UncheckedIOException refused) {
      return false;
    } catch (IOException | GeneralSecurityException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static MetadataConfig mutual(boolean clientsMust) {
    return MetadataConfig.builder()
        .tls(new TlsConfig(server.certificate(), server.key(), Optional.of(decode.certificate()), clientsMust))
        .build();
  }

  private static void start(TlsConfig tls) {
    MetadataService.start(MetadataConfig.builder().tls(tls).build()).close();
  }
}
