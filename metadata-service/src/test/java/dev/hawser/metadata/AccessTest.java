/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens and roles. */
class AccessTest {
  private static final String READER = "reader-0123456789";
  private static final String OWNER = "owner-0123456789a";
  private static final String ADMIN = "admin-0123456789a";

  @TempDir
  private Path folder;
  private Path file;
  private MetadataService service;
  private TestClient client;

  @BeforeEach
  void start() throws IOException {
    file = folder.resolve("tokens");
    Files.write(file, List.of("read * " + READER, "publish a-* " + OWNER, "admin * " + ADMIN));
    service = MetadataService.start(MetadataConfig.builder().tokens(file).build());
    client = new TestClient(service.uri());
  }

  @AfterEach
  void stop() {
    client.close();
    service.close();
  }

  @Test
  void nobodyGetsIn() {
    for (String path : List.of("/v1/agents", "/v1/agents/a-0", "/v1/watch", "/metrics")) {
      HttpResponse<byte[]> refused = client.get(path);
      assertThat(refused.statusCode()).as(path).isEqualTo(401);
      assertThat(header(refused, "WWW-Authenticate")).isEqualTo("Bearer realm=\"hawser\"");
      assertThat(header(refused, "Hawser-Problem")).isEqualTo("unauthenticated");
    }
    assertThat(client.publish("a-0", 1, "x").statusCode()).isEqualTo(401);
    assertThat(client.renew("a-0", 1).statusCode()).isEqualTo(401);
    assertThat(client.delete("a-0", 1).statusCode()).isEqualTo(401);
    assertThat(client.post("/v1/renew", "text/plain", "a-0 1").statusCode()).isEqualTo(401);
    assertThat(client.get("/v1/agents", "Authorization", "Bearer wrong").statusCode()).isEqualTo(401);
    assertThat(client.get("/v1/agents", "Authorization", "Basic " + READER).statusCode()).isEqualTo(401);
    assertThat(client.get("/v1/agents", "Authorization", READER).statusCode()).isEqualTo(401);
  }

  @Test
  void healthAndDocumentAreOpen() {
    for (String path : List.of("/health/live", "/health/ready", "/openapi.json")) {
      assertThat(client.get(path).statusCode()).as(path).isEqualTo(200);
    }
  }

  @Test
  void readerReads() {
    assertThat(publish(READER, "a-0")).isEqualTo(403);
    assertThat(publish(ADMIN, "a-0")).isEqualTo(201);
    assertThat(client.get("/v1/agents/a-0", "Authorization", "bearer " + READER).statusCode()).isEqualTo(200);
    assertThat(client.get("/metrics", "Authorization", "Bearer " + READER).statusCode()).isEqualTo(200);
    assertThat(renew(READER, "a-0 1").statusCode()).isEqualTo(403);
    try (WatchReader watch = client.watch("", "Authorization", "Bearer " + READER)) {
      assertThat(watch.take().event()).isEqualTo("ready");
    }
  }

  @Test
  void ownerPublishesItsOwn() {
    assertThat(publish(OWNER, "a-0")).isEqualTo(201);
    assertThat(publish(OWNER, "b-0")).isEqualTo(403);
    assertThat(publish(ADMIN, "b-0")).isEqualTo(201);
    assertThat(client.send("DELETE", "/v1/agents/b-0?epoch=1", null, "Authorization", "Bearer " + OWNER).statusCode())
        .isEqualTo(403);
    assertThat(client.renew("b-0", 1, "Authorization", "Bearer " + OWNER).statusCode()).isEqualTo(403);
    assertThat(client.renew("a-0", 1, "Authorization", "Bearer " + OWNER).statusCode()).isEqualTo(200);
    assertThat(client.get("/v1/agents/b-0", "Authorization", "Bearer " + OWNER).statusCode()).isEqualTo(200);
    assertThat(renew(OWNER, "a-0 1").statusCode()).isEqualTo(200);
    HttpResponse<byte[]> mixed = renew(OWNER, "a-0 1\nb-0 1");
    assertThat(mixed.statusCode()).isEqualTo(403);
    assertThat(header(mixed, "Hawser-Detail")).contains("does not own agent b-0").doesNotContain(OWNER);
  }

  @Test
  void changedFileCountsWithoutARestart() throws IOException {
    String late = "late-0123456789ab";
    assertThat(client.get("/v1/agents", "Authorization", "Bearer " + late).statusCode()).isEqualTo(401);
    Files.write(file, List.of("read * " + late));
    awaitStatus(late, 200);
    assertThat(client.get("/v1/agents", "Authorization", "Bearer " + READER).statusCode()).isEqualTo(401);
    Files.write(file, List.of("nonsense"));
    Files.write(file, List.of("read * " + late, "read * " + READER));
    awaitStatus(READER, 200);
    assertThat(client.get("/v1/agents", "Authorization", "Bearer " + late).statusCode()).isEqualTo(200);
  }

  @Test
  void unusableFileStopsTheStart() {
    Path missing = folder.resolve("none");
    assertThatThrownBy(() -> MetadataService.start(MetadataConfig.builder().tokens(missing).build()))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("does not exist");
  }

  @Test
  void beyondLoopbackOnlyWithAuthentication() {
    assertThatThrownBy(() -> MetadataService.start(MetadataConfig.builder().host("0.0.0.0").build()))
        .isInstanceOf(MetadataException.class)
        .hasMessageContaining("--tokens")
        .hasMessageContaining("--allow-anonymous");
    try (MetadataService open =
        MetadataService.start(MetadataConfig.builder().host("0.0.0.0").allowAnonymous(true).build());
        MetadataService guarded =
            MetadataService.start(MetadataConfig.builder().host("0.0.0.0").tokens(file).build())) {
      assertThat(open.port()).isNotEqualTo(guarded.port());
    }
  }

  private int publish(String token, String name) {
    return client.publish(name, 1, "x", "Authorization", "Bearer " + token).statusCode();
  }

  private HttpResponse<byte[]> renew(String token, String lines) {
    return client.send(
        "POST",
        "/v1/renew",
        lines.getBytes(java.nio.charset.StandardCharsets.US_ASCII),
        "Content-Type",
        "text/plain",
        "Authorization",
        "Bearer " + token);
  }

  private void awaitStatus(String token, int status) {
    long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    int seen;
    do {
      seen = client.get("/v1/agents", "Authorization", "Bearer " + token).statusCode();
    } while (seen != status && System.nanoTime() < end);
    assertThat(seen).isEqualTo(status);
  }
}
