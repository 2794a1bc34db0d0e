/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Typed access to the fields of a {@code config.json}; every complaint names the field and the file. */
final class ModelConfig {
  private static final int MAX_BYTES = 4 << 20;

  private final String source;
  private final String prefix;
  private final JsonNode outer;
  private final JsonNode text;

  private ModelConfig(String source, String prefix, JsonNode outer, JsonNode text) {
    this.source = source;
    this.prefix = prefix;
    this.outer = outer;
    this.text = text;
  }

  static ModelConfig read(Path file) {
    if (Files.isDirectory(file)) {
      throw new KvModelException(file + " is a folder; give the path of the config.json in it");
    }
    // Read, not asked for its size: devices and pipes have none, and do not end.
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new KvModelException(
            file + " is larger than 4 MiB, which no model's config.json is; give the path of one");
      }
      return parse(file.toString(), new String(bytes, StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new KvModelException("cannot read " + file + " (" + e.getClass().getSimpleName()
          + "); give the path of a model's config.json", e);
    }
  }

  static ModelConfig parse(String source, String json) {
    JsonNode root;
    try {
      root = new ObjectMapper().readTree(json);
    } catch (JsonProcessingException e) {
      throw new KvModelException(source + " is not JSON: " + e.getOriginalMessage(), e);
    }
    if (!root.isObject()) {
      throw new KvModelException(source + " is not a JSON object; give a model's config.json");
    }
    JsonNode inner = root.path("text_config");
    return inner.isObject()
        ? new ModelConfig(source, "text_config.", root, inner)
        : new ModelConfig(source, "", root, root);
  }

  /** A refusal because of a field. */
  KvModelException refuse(String field, String why) {
    return new KvModelException(source + ": " + prefix + field + why);
  }

  /** True if the field is there and says anything: not null, not false. */
  boolean says(String field) {
    JsonNode node = text.path(field);
    return !node.isMissingNode() && !node.isNull() && !(node.isBoolean() && !node.booleanValue());
  }

  String string(String field) {
    JsonNode node = text.path(field);
    if (!node.isTextual()) {
      throw refuse(field, node.isMissingNode() ? " is missing" : " is " + node + ", not a string");
    }
    return node.textValue();
  }

  /** From the text model, or from the whole one around it. */
  @Nullable
  String stringAnywhere(String field) {
    JsonNode node = text.path(field).isTextual() ? text.path(field) : outer.path(field);
    return node.isTextual() ? node.textValue() : null;
  }

  int positive(String field) {
    OptionalInt value = optionalPositive(field);
    if (value.isEmpty()) {
      throw refuse(field, " is missing");
    }
    return value.getAsInt();
  }

  OptionalInt optionalPositive(String field) {
    JsonNode node = text.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return OptionalInt.empty();
    }
    if (!node.isIntegralNumber() || !node.canConvertToInt() || node.intValue() < 1) {
      throw refuse(field, " is " + node + ", not a whole number from 1 on");
    }
    return OptionalInt.of(node.intValue());
  }

  boolean flag(String field) {
    JsonNode node = text.path(field);
    if (!node.isMissingNode() && !node.isNull() && !node.isBoolean()) {
      throw refuse(field, " is " + node + ", neither true nor false");
    }
    return node.asBoolean(false);
  }

  /** The strings of a list, or null if it is not there. */
  @Nullable
  List<String> strings(String field) {
    JsonNode node = text.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return null;
    }
    List<String> values = new ArrayList<>();
    for (JsonNode item : node) {
      if (!item.isTextual()) {
        throw refuse(field, " holds " + item + ", not a string");
      }
      values.add(item.textValue());
    }
    if (!node.isArray()) {
      throw refuse(field, " is not a list");
    }
    return values;
  }

  /** Whether the quantization scheme has its own type for the cache. */
  boolean quantizedCache() {
    for (JsonNode config : List.of(text, outer)) {
      JsonNode scheme = config.path("quantization_config").path("kv_cache_scheme");
      if (!scheme.isMissingNode() && !scheme.isNull()) {
        return true;
      }
    }
    return false;
  }
}
