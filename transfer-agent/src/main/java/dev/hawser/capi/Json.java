/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import java.util.Map;

/** Writes JSON objects: for facts that are looked at, not for what is moved. */
final class Json {
  private final StringBuilder text = new StringBuilder("{");

  static Json object() {
    return new Json();
  }

  Json text(String key, String value) {
    key(key).append(quoted(value));
    return this;
  }

  Json number(String key, long value) {
    key(key).append(value);
    return this;
  }

  Json unsigned(String key, long value) {
    key(key).append(Long.toUnsignedString(value));
    return this;
  }

  Json truth(String key, boolean value) {
    key(key).append(value);
    return this;
  }

  Json texts(String key, Iterable<String> values) {
    return items(key, values, Json::quoted);
  }

  Json texts(String key, Map<String, String> values) {
    Json map = object();
    values.forEach(map::text);
    key(key).append(map.end());
    return this;
  }

  /** A list of what {@code json} makes of each. */
  <T> Json items(String key, Iterable<T> values, java.util.function.Function<T, String> json) {
    StringBuilder list = key(key).append('[');
    String separator = "";
    for (T value : values) {
      list.append(separator).append(json.apply(value));
      separator = ",";
    }
    list.append(']');
    return this;
  }

  String end() {
    return text.append('}').toString();
  }

  private StringBuilder key(String key) {
    if (text.length() > 1) {
      text.append(',');
    }
    return text.append(quoted(key)).append(':');
  }

  static String quoted(String value) {
    StringBuilder quoted = new StringBuilder(value.length() + 2).append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ' || Character.isSurrogate(c)) {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
