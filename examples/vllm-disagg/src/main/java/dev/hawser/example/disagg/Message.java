/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One line between the router and a worker. In a deployment this is an HTTP request, and its fields are vLLM's {@code
 * kv_transfer_params}.
 *
 * @param verb what is asked, or what was done
 * @param fields with what
 */
record Message(String verb, Map<String, String> fields) {
  static Message of(String verb) {
    return new Message(verb, Map.of());
  }

  Message with(String key, Object value) {
    Map<String, String> more = new LinkedHashMap<>(fields);
    more.put(key, value.toString());
    return new Message(verb, more);
  }

  Message withBytes(String key, byte[] value) {
    return with(key, Base64.getUrlEncoder().encodeToString(value));
  }

  Message withNumbers(String key, int[] value) {
    return with(key, Arrays.stream(value).mapToObj(Integer::toString).collect(Collectors.joining(",")));
  }

  boolean has(String key) {
    return fields.containsKey(key);
  }

  /**
   * A field.
   *
   * @throws DemonstrationException if it is missing
   */
  String text(String key) {
    String value = fields.get(key);
    if (value == null) {
      throw new DemonstrationException("the message '" + verb + "' has no field '" + key + "'");
    }
    return value;
  }

  long number(String key) {
    return Long.parseLong(text(key));
  }

  int integer(String key) {
    return Integer.parseInt(text(key));
  }

  byte[] bytes(String key) {
    return Base64.getUrlDecoder().decode(text(key));
  }

  int[] numbers(String key) {
    return Arrays.stream(text(key).split(",", -1)).mapToInt(Integer::parseInt).toArray();
  }

  /** The line, without its end. */
  String line() {
    StringBuilder line = new StringBuilder(verb);
    fields.forEach(
        (key, value) -> line.append(' ').append(key).append('=')
            .append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
    return line.toString();
  }

  static Message parse(String line) {
    String[] words = line.split(" ", -1);
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = 1; i < words.length; i++) {
      int equals = words[i].indexOf('=');
      if (equals < 0) {
        throw new DemonstrationException("'" + words[i] + "' in the message '" + words[0] + "' is no key=value");
      }
      fields.put(words[i].substring(0, equals),
          URLDecoder.decode(words[i].substring(equals + 1), StandardCharsets.UTF_8));
    }
    return new Message(words[0], fields);
  }
}
