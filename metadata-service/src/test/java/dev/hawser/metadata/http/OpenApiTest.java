/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.store.MemoryStore;
import dev.hawser.metadata.store.MonotonicClock;
import dev.hawser.metadata.store.StoreLimits;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The OpenAPI document says what the routes do. */
class OpenApiTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern PARAMETER = Pattern.compile("\\{(\\w+)}");
  private static final HttpSettings SETTINGS =
      new HttpSettings("127.0.0.1", 0, null, 1 << 20, 9, 9, 1_000, 1_000, 1_000);

  private final JsonNode document = load();

  @Test
  void hasTheRoutesAndNoOthers() {
    Set<String> documented = new TreeSet<>();
    for (Map.Entry<String, JsonNode> path : document.get("paths").properties()) {
      for (Map.Entry<String, JsonNode> operation : path.getValue().properties()) {
        documented.add(operation.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey());
      }
    }
    Vertx vertx = Vertx.vertx();
    try {
      MemoryStore store = new MemoryStore(StoreLimits.DEFAULT, MonotonicClock.SYSTEM, 1);
      WatchHub hub = new WatchHub(vertx.getOrCreateContext(), store.events());
      MeetingHub meetings = new MeetingHub(vertx.getOrCreateContext(), store.meetings());
      assertThat(documented)
          .containsExactlyInAnyOrderElementsOf(
              Api.routes(vertx, store, SETTINGS, new FrontState(Authentication.none()), hub, meetings).all().stream()
                  .map(Route::operation).toList());
    } finally {
      vertx.close().await();
    }
  }

  @Test
  void isConsistent() {
    assertThat(document.get("openapi").textValue()).isEqualTo("3.1.0");
    Set<String> ids = new TreeSet<>();
    for (JsonNode reference : document.findValues("$ref")) {
      assertThat(document.at(reference.textValue().substring(1)).isMissingNode()).as(reference.textValue()).isFalse();
    }
    for (Map.Entry<String, JsonNode> path : document.get("paths").properties()) {
      for (JsonNode operation : path.getValue()) {
        assertThat(ids.add(operation.get("operationId").textValue())).isTrue();
        Set<String> inPath = new TreeSet<>();
        Matcher matcher = PARAMETER.matcher(path.getKey());
        while (matcher.find()) {
          inPath.add(matcher.group(1));
        }
        assertThat(parameters(operation, "path")).isEqualTo(inPath);
      }
    }
  }

  @Test
  void saysWhichOperationsAreOpen() {
    Vertx vertx = Vertx.vertx();
    try {
      MemoryStore store = new MemoryStore(StoreLimits.DEFAULT, MonotonicClock.SYSTEM, 1);
      WatchHub hub = new WatchHub(vertx.getOrCreateContext(), store.events());
      MeetingHub meetings = new MeetingHub(vertx.getOrCreateContext(), store.meetings());
      for (Route route : Api.routes(vertx, store, SETTINGS, new FrontState(Authentication.none()), hub, meetings)
          .all()) {
        JsonNode operation = operation(call(route.method().name(), route.template(), ""));
        boolean open = route.access() == Access.OPEN;
        assertThat(operation.has("security")).as(route.operation()).isEqualTo(open);
        assertThat(operation.get("responses").has("401")).as(route.operation()).isEqualTo(!open);
        assertThat(operation.get("responses").has("403"))
            .as(route.operation())
            .isEqualTo(route.access() == Access.OWNER || route.access() == Access.PUBLISHER);
      }
    } finally {
      vertx.close().await();
    }
  }

  @Test
  void promisesWhatIsAnswered() throws IOException, InterruptedException {
    MetadataConfig config = MetadataConfig.builder().maxBlobBytes(100).maxAgents(2).build();
    List<String> seen = new ArrayList<>();
    try (MetadataService service = MetadataService.start(config);
        HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      for (Call call : CALLS) {
        HttpRequest.Builder request =
            HttpRequest.newBuilder(service.uri().resolve(call.path()))
                .timeout(Duration.ofSeconds(20))
                .method(call.method(), HttpRequest.BodyPublishers.ofString(call.body()));
        if (!call.headers().isEmpty()) {
          request.headers(call.headers().toArray(String[]::new));
        }
        HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        seen.add(call.method() + " " + call.path() + " " + response.statusCode());
        isPromised(call, response);
      }
    }
    assertThat(seen).extracting(line -> line.substring(line.length() - 3)).contains(
        "200", "201", "204", "304", "400", "404", "406", "409", "413", "415", "507");
  }

  private void isPromised(Call call, HttpResponse<String> response) {
    JsonNode operation = operation(call);
    String as = call.method() + " " + call.path() + " -> " + response.statusCode() + " " + response.body();
    JsonNode promised = resolve(operation.get("responses").get(Integer.toString(response.statusCode())));
    assertThat(promised).as(as).isNotNull();
    String type = response.headers().firstValue("Content-Type").orElse("").replaceFirst(";.*", "");
    if (type.isEmpty()) {
      assertThat(promised.has("content")).as(as).isFalse();
    } else {
      assertThat(promised.get("content").has(type)).as(as).isTrue();
      if (type.endsWith("json")) {
        conforms(as, parse(response.body()), promised.get("content").get(type).get("schema"));
      }
    }
    Map<String, String> documented = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    promised.path("headers").fieldNames().forEachRemaining(name -> documented.put(name, name));
    for (String name : response.headers().map().keySet()) {
      if (name.startsWith("Hawser-") || name.equals("ETag") || name.equals("Retry-After")) {
        assertThat(documented).as(as).containsKey(name);
      }
    }
    for (int i = 0; i < call.headers().size(); i += 2) {
      if (call.headers().get(i).startsWith("Hawser-")) {
        assertThat(parameters(operation, "header")).as(as).contains(call.headers().get(i));
      }
    }
    String query = URI.create(call.path()).getQuery();
    if (query != null) {
      for (String pair : query.split("&", -1)) {
        assertThat(parameters(operation, "query")).as(as).contains(pair.replaceFirst("=.*", ""));
      }
    }
  }

  /** As much of JSON Schema as the document uses. */
  private void conforms(String as, JsonNode value, JsonNode schemaOrReference) {
    JsonNode schema = resolve(schemaOrReference);
    switch (schema.path("type").asText()) {
      case "object" -> {
        assertThat(value.isObject()).as(as).isTrue();
        for (JsonNode required : schema.path("required")) {
          assertThat(value.has(required.textValue())).as(as + ": " + required).isTrue();
        }
        if (schema.has("properties")) {
          for (Map.Entry<String, JsonNode> field : value.properties()) {
            assertThat(schema.get("properties").has(field.getKey())).as(as + ": " + field.getKey()).isTrue();
            conforms(as, field.getValue(), schema.get("properties").get(field.getKey()));
          }
        }
      }
      case "array" -> value.forEach(element -> conforms(as, element, schema.get("items")));
      case "string" -> {
        assertThat(value.isTextual()).as(as).isTrue();
        if (schema.has("pattern")) {
          assertThat(value.textValue()).as(as).matches(schema.get("pattern").textValue());
        }
        if (schema.has("enum")) {
          assertThat(schema.get("enum")).as(as).contains(value);
        }
      }
      case "integer" -> assertThat(value.isIntegralNumber()).as(as).isTrue();
      default -> throw new AssertionError(as + ": schema " + schema);
    }
  }

  private JsonNode operation(Call call) {
    String path = call.path().replaceFirst("\\?.*", "").replaceFirst("^/v1/(agents|rendezvous)/[^/]+", "/v1/$1/{name}");
    return document.get("paths").get(path).get(call.method().toLowerCase(Locale.ROOT));
  }

  private Set<String> parameters(JsonNode operation, String in) {
    Set<String> names = new TreeSet<>();
    for (JsonNode parameter : operation.get("parameters")) {
      if (resolve(parameter).get("in").textValue().equals(in)) {
        names.add(resolve(parameter).get("name").textValue());
      }
    }
    return names;
  }

  private JsonNode resolve(JsonNode node) {
    return node != null && node.has("$ref") ? document.at(node.get("$ref").textValue().substring(1)) : node;
  }

  private static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (IOException malformed) {
      throw new AssertionError(text, malformed);
    }
  }

  private static JsonNode load() {
    try (InputStream in = OpenApiTest.class.getResourceAsStream("openapi.json")) {
      return JSON.readTree(in);
    } catch (IOException failed) {
      throw new AssertionError("openapi.json", failed);
    }
  }

  private record Call(String method, String path, String body, List<String> headers) {}

  private static Call call(String method, String path, String body, String... headers) {
    return new Call(method, path, body, List.of(headers));
  }

  private static final String BINARY = "application/octet-stream";

  private static final List<Call> CALLS =
      List.of(
          call("GET", "/health/live", ""),
          call("GET", "/health/ready", ""),
          call("GET", "/metrics", ""),
          call("GET", "/", ""),
          call("GET", "/page.css", ""),
          call("GET", "/page.js", ""),
          call("GET", "/openapi.json", ""),
          call("GET", "/v1/agents/a", "", "Accept", BINARY, "Hawser-Request-Id", "x"),
          call(
              "PUT",
              "/v1/agents/a",
              "x",
              "Content-Type",
              BINARY,
              "Hawser-Epoch",
              "5",
              "Hawser-Ttl-Millis",
              "60000",
              "Hawser-Address",
              "h:1",
              "Hawser-Labels",
              "a=b",
              "Hawser-Summary",
              "{\"n\":1}",
              "Hawser-Expect-Epoch",
              "0"),
          call(
              "PUT",
              "/v1/agents/b",
              "{\"epoch\":\"5\",\"blob\":\"eA==\",\"labels\":{\"a\":\"b\"},\"summary\":{}}",
              "Content-Type",
              "application/json"),
          call("PUT", "/v1/agents/c", "x", "Content-Type", BINARY, "Hawser-Epoch", "5"),
          call("PUT", "/v1/agents/a", "x", "Content-Type", BINARY, "Hawser-Epoch", "4"),
          call("PUT", "/v1/agents/a", "y", "Content-Type", BINARY, "Hawser-Epoch", "7", "Hawser-Expect-Epoch", "6"),
          call("PUT", "/v1/agents/a", "y", "Content-Type", BINARY, "Hawser-Epoch", "7", "Hawser-Expect-Epoch", "5"),
          call("PUT", "/v1/agents/a", "x".repeat(200), "Content-Type", BINARY, "Hawser-Epoch", "7"),
          call("PUT", "/v1/agents/a", "x", "Content-Type", "text/html", "Hawser-Epoch", "7"),
          call("PUT", "/v1/agents/a", "x", "Content-Type", BINARY),
          call("PATCH", "/v1/agents/a", "z", "Content-Type", BINARY, "Hawser-Epoch", "7", "Hawser-Blob-Offset", "1"),
          call("PATCH", "/v1/agents/a", "z", "Content-Type", BINARY, "Hawser-Epoch", "7", "Hawser-Blob-Offset", "9"),
          call("PATCH", "/v1/agents/a", "z", "Content-Type", BINARY, "Hawser-Epoch", "4", "Hawser-Blob-Offset", "1"),
          call("PATCH", "/v1/agents/z?epoch=4", "z", "Content-Type", BINARY, "Hawser-Blob-Offset", "1"),
          call(
              "GET", "/v1/agents/a", "", "Accept", BINARY, "Hawser-Blob-Known",
              "1 a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"),
          call("GET", "/v1/agents/a", "", "Accept", BINARY),
          call("GET", "/v1/agents/a", ""),
          call("GET", "/v1/agents/a", "", "Accept", "image/png"),
          call("GET", "/v1/agents/a", "", "If-None-Match", "*"),
          call("GET", "/v1/agents", ""),
          call("GET", "/v1/agents?names=a,b&label=a:b&blobs=true&limit=1&after=A", ""),
          call("GET", "/v1/agents?limit=1", "", "Accept", BINARY),
          call("GET", "/v1/agents?limit=0", ""),
          call("POST", "/v1/agents/a/renew", "", "Hawser-Epoch", "7", "Hawser-Ttl-Millis", "10000"),
          call("POST", "/v1/agents/a/renew?epoch=7", "{}", "Content-Type", "application/json"),
          call("POST", "/v1/agents/a/renew?epoch=7", "x", "Content-Type", "text/plain"),
          call("POST", "/v1/agents/a/renew?epoch=5", ""),
          call("POST", "/v1/agents/z/renew?epoch=5", ""),
          call("POST", "/v1/renew", "a 7\nb 4\nz 1", "Content-Type", "text/plain"),
          call(
              "POST",
              "/v1/renew",
              "{\"agents\":[{\"name\":\"a\",\"epoch\":\"7\"},{\"name\":\"b\",\"epoch\":\"4\"}]}",
              "Content-Type",
              "application/json"),
          call("POST", "/v1/renew", "?", "Content-Type", "text/plain"),
          call("GET", "/v1/watch?form=xml", ""),
          call("GET", "/v1/watch", "", "Accept", "image/png"),
          call("POST", "/v1/rendezvous/g?size=1&rank=0&member=m&round=1&wait_millis=0", "x", "Content-Type", BINARY),
          call("POST", "/v1/rendezvous/g?size=1&rank=0&member=m", "", "Accept", BINARY),
          call("POST", "/v1/rendezvous/h?size=2&rank=0&member=m&wait_millis=0", ""),
          call("POST", "/v1/rendezvous/h?size=2&rank=0&member=n", ""),
          call("POST", "/v1/rendezvous/h?size=2&rank=2&member=n", ""),
          call("DELETE", "/v1/agents/a?epoch=5", ""),
          call("DELETE", "/v1/agents/a", "", "Hawser-Epoch", "7"),
          call("DELETE", "/v1/agents/a?epoch=7", ""));
}
