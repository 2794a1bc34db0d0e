/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code hawser metadata} as a process of its own, as scripts start it. */
class MetadataCommandIT {
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES)
  void firstLineTellsThePortAndSigtermEndsIt() throws IOException, InterruptedException {
    Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), Hawser.class.getName(),
        "metadata", "--listen", "127.0.0.1:0").redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        HttpClient http = HttpClient.newHttpClient()) {
      String first = out.readLine();
      assertThat(first).matches("hawser metadata: http://127\\.0\\.0\\.1:[1-9][0-9]*");
      URI uri = URI.create(first.substring(first.indexOf("http")));

      HttpResponse<String> ready = http.send(
          HttpRequest.newBuilder(uri.resolve("/health/ready")).timeout(DEADLINE).build(),
          HttpResponse.BodyHandlers.ofString());
      assertThat(ready.statusCode()).isEqualTo(200);

      process.toHandle().destroy();
      assertThat(process.waitFor(DEADLINE.toMillis(), TimeUnit.MILLISECONDS)).as("it ends on SIGTERM").isTrue();
      assertThat(process.exitValue()).as("what a JVM says that SIGTERM has ended").isEqualTo(143);
      assertThat(out.readLine()).isNull();
    } finally {
      process.destroyForcibly();
    }
  }
}
