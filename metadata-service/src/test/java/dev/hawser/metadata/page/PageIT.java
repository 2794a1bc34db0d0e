/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person sees, in a real browser. */
class PageIT {
  private static final String TOKEN = "page-token-0123456789";

  @TempDir
  private Path folder;
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private Chromium browser;

  @BeforeEach
  void start() throws IOException {
    assumeTrue(Chromium.binary().isPresent(), Chromium.HOW_TO_ENABLE);
    browser = new Chromium(folder);
  }

  @AfterEach
  void stop() {
    if (browser != null) {
      browser.close();
    }
    http.shutdownNow();
    http.close();
  }

  @Test
  void showsAgentsAsTheyComeAndGo() throws IOException, InterruptedException {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      browser.show(1200, 800, false);
      browser.open(service.uri());
      browser.await("document.querySelector('#state').textContent.includes('live')");
      browser.await("!document.querySelector('#none').hidden");
      publish(service, "prefill-0", 60_000, healthy("decode-0"));
      browser.await("document.querySelectorAll('.agent').length === 1");
      publish(service, "decode-0", 60_000, broken());
      browser.await("document.querySelectorAll('#map .node').length === 2");
      browser.await("document.querySelectorAll('#map .edge').length === 2");
      browser.await("document.querySelectorAll('#map .edge.failed').length === 1");
      assertThat(browser.text("#trouble-list"))
          .contains("decode-0: rail mlx5_1 is down: cable unplugged.")
          .contains("decode-0 cannot reach prefill-0 over mlx5_1: port is down.");
      browser.await("document.querySelectorAll('#map .mark').length === 2");
      browser.await("document.querySelector('#map .mark.down title').textContent === 'mlx5_1: down'");
      assertThat(browser.text("#agents")).contains("mlx5_0: 92.0 out, 3.0 in Gb/s, p99 31.0 µs");
      browser.await("document.querySelector('#gbits-now').textContent.startsWith('95.0 Gb/s')");
      browser.await("document.querySelector('#gbits .series').getAttribute('points').split(' ').length > 1");
      delete(service, "prefill-0");
      browser.await("document.querySelectorAll('.agent').length === 1");
      assertThat(browser.text("#trouble-list"))
          .contains("decode-0 does not reach prefill-0, which is not registered here any more.");
      publish(service, "brief", 6_000, "{}");
      browser
          .await("document.querySelector('#trouble-list').textContent.includes('brief has not renewed its presence')");
      browser.await("!document.querySelector('#agents').textContent.includes('brief')");
      isQuietAndAlone(service);
    }
  }

  @Test
  void worksWithTheKeyboardOnAPhoneInTheDark() throws IOException, InterruptedException {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      publish(service, "a-name-that-is-rather-long-for-a-phone.rack7.row3:" + "x".repeat(70), 60_000, healthy("b"));
      publish(service, "b", 60_000, healthy("a"));
      browser.show(360, 640, true);
      browser.open(service.uri());
      browser.await("document.querySelectorAll('.agent').length === 2");
      assertThat(browser.evaluate("document.documentElement.scrollWidth").intValue())
          .as("nothing to scroll sideways")
          .isLessThanOrEqualTo(360);
      assertThat(contrast()).as("text on its background").isGreaterThan(7);
      int stops = 0;
      while (!browser.evaluate("document.activeElement.matches('#map .node')").booleanValue()) {
        browser.press("Tab", "Tab");
        assertThat(stops++).as("the map can be reached").isLessThan(20);
      }
      String name = browser.evaluate("document.activeElement.dataset.name").asText();
      browser.press("Enter", "Enter");
      browser.await("document.querySelector('#chart-of').textContent === '" + name + "'");
      assertThat(browser.evaluate("document.activeElement.dataset.name").asText()).as("keeps the focus")
          .isEqualTo(name);
      browser.show(360, 640, false);
      assertThat(contrast()).isGreaterThan(7);
      isQuietAndAlone(service);
    }
  }

  @Test
  void asksForATokenWhereOneIsNeeded() throws IOException, InterruptedException {
    Path tokens = Files.write(folder.resolve("tokens"), List.of("admin * " + TOKEN));
    try (MetadataService service = MetadataService.start(MetadataConfig.builder().tokens(tokens).build())) {
      publish(service, "a", 60_000, "{}");
      browser.open(service.uri());
      browser.await("document.activeElement.id === 'token'");
      browser.type("wrong-token-0123456789");
      browser.press("Enter", "Enter");
      browser.await("document.querySelector('#refused').textContent !== ''");
      browser.await("document.activeElement.id === 'token'");
      browser.type(TOKEN);
      browser.press("Enter", "Enter");
      browser.await("document.querySelectorAll('.agent').length === 1");
      assertThat(browser.evaluate("document.querySelector('#login').hidden").booleanValue()).isTrue();
      publish(service, "b", 60_000, "{}");
      browser.await("document.querySelectorAll('.agent').length === 2");
    }
  }

  @Test
  void whatAgentsSayIsTextAndNothingElse() throws IOException, InterruptedException {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      String evil = "<img src=x onerror='window.evil=1'><script>window.evil=1</script>";
      publish(
          service,
          "a",
          60_000,
          "{\"rails\":[{\"name\":\"" + evil + "\",\"up\":false,\"note\":\"" + evil + "\"},null,7],\"peers\":[null,"
              + "{\"name\":{},\"failed\":\"x\"},{\"name\":\"a\",\"failed\":[{\"rail\":\"" + evil + "\"}]}]}");
      publish(service, "b", 60_000, "{\"rails\":\"none\",\"peers\":{}}");
      browser.open(service.uri());
      browser.await("document.querySelectorAll('.agent').length === 2");
      assertThat(browser.text("#trouble-list")).contains("<script>");
      assertThat(
          browser.evaluate("document.images.length + document.querySelectorAll('main script').length").intValue())
          .isZero();
      assertThat(browser.evaluate("window.evil === undefined").booleanValue()).isTrue();
      isQuietAndAlone(service);
    }
  }

  private double contrast() {
    return browser
        .evaluate(
            """
                (() => {
                  const light = (colour) => {
                    const [r, g, b] = colour.match(/\\d+/g).map((part) => {
                      const value = part / 255;
                      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
                    });
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                  };
                  const style = getComputedStyle(document.body);
                  const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
                  return (a + 0.05) / (b + 0.05);
                })()""")
        .doubleValue();
  }

  /** No error, and no request to anywhere else. */
  private void isQuietAndAlone(MetadataService service) {
    assertThat(browser.errors()).isEmpty();
    assertThat(browser.requests())
        .isNotEmpty()
        .allSatisfy(url -> assertThat(url).matches("(" + service.uri() + "/.*|data:.*)"));
  }

  private static String healthy(String peer) {
    return "{\"rails\":[{\"name\":\"mlx5_0\",\"up\":true,\"gbits\":{\"tx\":92,\"rx\":3},\"latency_us\":{\"p99\":31}}],"
        + "\"peers\":[{\"name\":\"" + peer + "\",\"gbits\":92}]}";
  }

  private static String broken() {
    return "{\"rails\":[{\"name\":\"mlx5_1\",\"up\":false,\"note\":\"cable unplugged\"}],"
        + "\"peers\":[{\"name\":\"prefill-0\",\"gbits\":0,\"failed\":[{\"rail\":\"mlx5_1\",\"why\":\"port is down\"}]}]}";
  }

  private void publish(MetadataService service, String name, int ttlMillis, String summary)
      throws IOException, InterruptedException {
    HttpRequest request =
        to(service, name)
            .header("Content-Type", "application/octet-stream")
            .header("Hawser-Epoch", "1760000000000000")
            .header("Hawser-Ttl-Millis", Integer.toString(ttlMillis))
            .header("Hawser-Labels", "role=test")
            .header("Hawser-Summary", summary)
            .PUT(HttpRequest.BodyPublishers.ofString("blob"))
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isIn(200, 201);
  }

  private void delete(MetadataService service, String name) throws IOException, InterruptedException {
    HttpRequest request = to(service, name).header("Hawser-Epoch", "1760000000000000").DELETE().build();
    assertThat(http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode()).isEqualTo(204);
  }

  private static HttpRequest.Builder to(MetadataService service, String name) {
    URI uri = service.uri().resolve("/v1/agents/" + name);
    return HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(20)).header("Authorization", "Bearer " + TOKEN);
  }
}
