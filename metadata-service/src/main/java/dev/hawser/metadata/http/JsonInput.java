/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.hawser.metadata.store.Envelopes;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * An object in a request's body. Every wrong field is a bad request that names it: unknown ones too, since a misspelt
 * option that is ignored is worse than an error.
 */
final class JsonInput {
  private static final int MAX_DEPTH = 32;

  /** Base64 of the largest blob that can be configured; the body's own limit is lower most of the time. */
  private static final int MAX_TEXT = 1 << 27;

  private static final JsonMapper MAPPER =
      JsonMapper.builder(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxNestingDepth(MAX_DEPTH)
                      .maxStringLength(MAX_TEXT)
                      .maxNameLength(256)
                      .maxNumberLength(64)
                      .build())
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private final String where;
  private final ObjectNode object;

  private JsonInput(String where, JsonNode node, Set<String> known) {
    if (!(node instanceof ObjectNode found)) {
      throw bad(where + " is not a JSON object");
    }
    this.where = where;
    this.object = found;
    Iterator<String> fields = found.fieldNames();
    while (fields.hasNext()) {
      String field = fields.next();
      if (!known.contains(field)) {
        throw bad(where + " has the unknown field " + shown(field) + "; known are " + String.join(", ", sorted(known)));
      }
    }
  }

  /** The body of a request. */
  static JsonInput body(Buffer body, Set<String> known) {
    return new JsonInput("the body", parse("the body", body.getBytes()), known);
  }

  /** A summary as it is kept: one line of ASCII. Empty text stays empty. */
  static String summary(String text) {
    if (text.isEmpty()) {
      return "";
    }
    return summary(parse("summary", text.getBytes(StandardCharsets.UTF_8)));
  }

  /** Likewise, of a whole body. */
  static String summary(Buffer body) {
    return summary(parse("summary", body.getBytes()));
  }

  private static String summary(JsonNode node) {
    if (!node.isObject()) {
      throw bad("summary is not a JSON object");
    }
    String text = JsonOutput.write(json -> MAPPER.writeTree(json, node)).toString(StandardCharsets.US_ASCII);
    if (text.length() > Envelopes.MAX_SUMMARY) {
      throw bad(
          "summary has " + text.length() + " bytes as one line of ASCII; at most " + Envelopes.MAX_SUMMARY
              + " are allowed");
    }
    return text;
  }

  private static JsonNode parse(String where, byte[] bytes) {
    try {
      return MAPPER.readTree(bytes);
    } catch (JsonProcessingException malformed) {
      throw bad(
          where + " is not JSON: " + malformed.getOriginalMessage() + " (line " + line(malformed) + ")");
    } catch (IOException impossible) {
      throw new UncheckedIOException("bytes in memory could not be read", impossible);
    }
  }

  private static String line(JsonProcessingException malformed) {
    return malformed.getLocation() == null
        ? "?"
        : malformed.getLocation().getLineNr() + ", column " + malformed.getLocation().getColumnNr();
  }

  /** Whether the field is there and not null. */
  boolean has(String field) {
    return get(field) != null;
  }

  /** Text, or null when the field is not there. */
  @Nullable
  String text(String field) {
    JsonNode node = get(field);
    if (node == null) {
      return null;
    }
    if (!node.isTextual()) {
      throw bad(named(field) + " is not a string");
    }
    return node.textValue();
  }

  String requiredText(String field) {
    String text = text(field);
    if (text == null) {
      throw bad(named(field) + " is missing");
    }
    return text;
  }

  /** An unsigned 64-bit number, written as a string or as a number; {@code otherwise} when the field is not there. */
  long unsigned(String field, long otherwise) {
    JsonNode node = get(field);
    if (node == null) {
      return otherwise;
    }
    if (node.isTextual()) {
      return Numbers.unsigned(named(field), node.textValue());
    }
    if (node.isIntegralNumber()) {
      return Numbers.unsigned(named(field), node.bigIntegerValue().toString());
    }
    throw bad(named(field) + " is not an unsigned number");
  }

  long requiredEpoch() {
    if (!has("epoch")) {
      throw bad(named("epoch") + " is missing");
    }
    return Envelopes.epoch(unsigned("epoch", 0));
  }

  /** A summary, or null when the field is not there. */
  @Nullable
  String summaryField() {
    JsonNode node = get("summary");
    return node == null ? null : summary(node);
  }

  Map<String, String> texts(String field) {
    JsonNode node = get(field);
    if (node == null) {
      return Map.of();
    }
    if (!node.isObject()) {
      throw bad(named(field) + " is not an object of strings");
    }
    Map<String, String> texts = new TreeMap<>();
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      if (!entry.getValue().isTextual()) {
        throw bad(named(field) + " has a value under " + shown(entry.getKey()) + " that is not a string");
      }
      texts.put(entry.getKey(), entry.getValue().textValue());
    }
    return texts;
  }

  Buffer base64(String field) {
    try {
      return Buffer.buffer(Base64.getDecoder().decode(requiredText(field)));
    } catch (IllegalArgumentException malformed) {
      throw bad(named(field) + " is not base64: " + malformed.getMessage());
    }
  }

  List<JsonInput> objects(String field, int max, Set<String> known) {
    JsonNode node = get(field);
    if (node == null || !node.isArray()) {
      throw bad(named(field) + " is not an array");
    }
    if (node.size() > max) {
      throw bad(named(field) + " has " + node.size() + " elements; at most " + max + " are allowed");
    }
    List<JsonInput> objects = new ArrayList<>(node.size());
    for (int i = 0; i < node.size(); i++) {
      objects.add(new JsonInput(field + "[" + i + "]", node.get(i), known));
    }
    return objects;
  }

  private @Nullable JsonNode get(String field) {
    JsonNode node = object.get(field);
    return node == null || node.isNull() ? null : node;
  }

  private String named(String field) {
    return where.equals("the body") ? field : where + "." + field;
  }

  private static List<String> sorted(Set<String> known) {
    return known.stream().sorted().toList();
  }

  private static ProblemException bad(String detail) {
    return Problem.badRequest(detail).exception();
  }
}
