/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A headless Chromium with one page, driven by its DevTools protocol. */
final class Chromium implements AutoCloseable {
  static final String HOW_TO_ENABLE = "no chromium on the path: apt-get install chromium enables this test";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final AtomicInteger ids = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();

  /** What the page asked for, by URL. */
  private final List<String> requests = new CopyOnWriteArrayList<>();

  /** Errors in its script, and refusals by its policy. */
  private final List<String> errors = new CopyOnWriteArrayList<>();

  static Optional<Path> binary() {
    return Stream.of(System.getenv("PATH").split(":", -1))
        .flatMap(entry -> Stream.of(Path.of(entry, "chromium"), Path.of(entry, "chromium-browser")))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * @param folder for its profile and its log
   */
  Chromium(Path folder) throws IOException {
    Path profile = Files.createDirectories(folder.resolve("profile"));
    ProcessBuilder builder =
        new ProcessBuilder(
            binary().orElseThrow().toString(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--remote-debugging-port=0",
            "--user-data-dir=" + profile,
            "about:blank");
    builder.environment().put("TMPDIR", Files.createDirectories(folder.resolve("tmp")).toString());
    process =
        builder.redirectErrorStream(true).redirectOutput(folder.resolve("chromium.log").toFile()).start();
    socket = http.newWebSocketBuilder().buildAsync(pageTarget(profile), new Answers()).join();
    call("Page.enable");
    call("Runtime.enable");
    call("Network.enable");
    call("Log.enable");
  }

  /** The debugger of its only page. */
  private URI pageTarget(Path profile) throws IOException {
    Path portFile = profile.resolve("DevToolsActivePort");
    long end = System.nanoTime() + DEADLINE.toNanos();
    while (true) {
      if (System.nanoTime() > end) {
        throw new IOException("chromium did not open its debugging port");
      }
      LockSupport.parkNanos(20_000_000);
      if (!Files.exists(portFile)) {
        continue;
      }
      List<String> lines = Files.readAllLines(portFile);
      if (lines.isEmpty()) {
        continue;
      }
      try (java.io.InputStream in = URI.create("http://127.0.0.1:" + lines.getFirst() + "/json").toURL().openStream()) {
        for (JsonNode target : JSON.readTree(in)) {
          if (target.get("type").textValue().equals("page")) {
            return URI.create(target.get("webSocketDebuggerUrl").textValue());
          }
        }
      }
    }
  }

  void open(URI uri) {
    call("Page.navigate", "url", uri.toString());
    await("document.readyState === 'complete' && location.href !== 'about:blank'");
  }

  /** A phone or a desktop, in dark or light. */
  void show(int width, int height, boolean dark) {
    ObjectNode size = JSON.createObjectNode();
    size.put("width", width).put("height", height).put("deviceScaleFactor", 1).put("mobile", width < 600);
    call("Emulation.setDeviceMetricsOverride", size);
    ObjectNode media = JSON.createObjectNode();
    media.putArray("features").addObject().put("name", "prefers-color-scheme").put("value", dark ? "dark" : "light");
    call("Emulation.setEmulatedMedia", media);
  }

  void press(String key, String code) {
    for (String type : List.of("keyDown", "keyUp")) {
      ObjectNode event = JSON.createObjectNode();
      event.put("type", type).put("key", key).put("code", key.length() == 1 ? code : key);
      event.put("windowsVirtualKeyCode", key.equals("Tab") ? 9 : key.equals("Enter") ? 13 : 0);
      if (key.equals("Enter") && type.equals("keyDown")) {
        event.put("text", "\r");
      }
      call("Input.dispatchKeyEvent", event);
    }
  }

  void type(String text) {
    call("Input.insertText", "text", text);
  }

  /** The value of an expression, as JSON. */
  JsonNode evaluate(String expression) {
    ObjectNode parameters = JSON.createObjectNode();
    parameters.put("expression", expression).put("returnByValue", true).put("awaitPromise", true);
    JsonNode answer = call("Runtime.evaluate", parameters);
    if (answer.has("exceptionDetails")) {
      throw new AssertionError(expression + ": " + answer.get("exceptionDetails"));
    }
    return answer.path("result").path("value");
  }

  String text(String selector) {
    return evaluate("document.querySelector('" + selector + "')?.innerText ?? ''").asText();
  }

  /** Until the expression is true. */
  void await(String expression) {
    long end = System.nanoTime() + DEADLINE.toNanos();
    while (!evaluate("Boolean(" + expression + ")").booleanValue()) {
      if (System.nanoTime() > end) {
        throw new AssertionError(
            "never true: " + expression + "; the page says " + evaluate("document.body.innerText"));
      }
      LockSupport.parkNanos(50_000_000);
    }
  }

  List<String> requests() {
    return List.copyOf(requests);
  }

  List<String> errors() {
    return List.copyOf(errors);
  }

  private JsonNode call(String method, String... parameters) {
    ObjectNode object = JSON.createObjectNode();
    for (int i = 0; i < parameters.length; i += 2) {
      object.put(parameters[i], parameters[i + 1]);
    }
    return call(method, object);
  }

  private JsonNode call(String method, ObjectNode parameters) {
    int id = ids.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    answers.put(id, answer);
    ObjectNode message = JSON.createObjectNode();
    message.put("id", id).put("method", method).set("params", parameters);
    socket.sendText(message.toString(), true).join();
    try {
      JsonNode answered = answer.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
      if (answered.has("error")) {
        throw new AssertionError(method + ": " + answered.get("error"));
      }
      return answered.get("result");
    } catch (InterruptedException | ExecutionException | TimeoutException failed) {
      throw new AssertionError(method, failed);
    }
  }

  private void take(String message) {
    try {
      JsonNode json = JSON.readTree(message);
      if (json.has("id")) {
        CompletableFuture<JsonNode> answer = answers.remove(json.get("id").intValue());
        if (answer != null) {
          answer.complete(json);
        }
        return;
      }
      switch (json.path("method").asText()) {
        case "Network.requestWillBeSent" -> requests.add(json.at("/params/request/url").asText());
        case "Runtime.exceptionThrown" -> errors.add(json.at("/params/exceptionDetails").toString());
        case "Log.entryAdded" -> {
          if (json.at("/params/entry/source").asText().equals("security")) {
            errors.add(json.at("/params/entry/text").asText());
          }
        }
        default -> {
          // Other news is not needed.
        }
      }
    } catch (IOException malformed) {
      throw new UncheckedIOException(message, malformed);
    }
  }

  @Override
  public void close() {
    socket.abort();
    http.shutdownNow();
    http.close();
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        throw new IllegalStateException("chromium does not end");
      }
      for (ProcessHandle one : all) {
        one.onExit().get(20, TimeUnit.SECONDS);
      }
    } catch (InterruptedException | ExecutionException | TimeoutException failed) {
      throw new IllegalStateException("chromium does not end", failed);
    }
  }

  private final class Answers implements WebSocket.Listener {
    private final StringBuilder parts = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      parts.append(data);
      if (last) {
        String message = parts.toString();
        parts.setLength(0);
        take(message);
      }
      from.request(1);
      return null;
    }
  }
}
