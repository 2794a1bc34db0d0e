/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.text;

import java.util.Map;
import java.util.function.Function;

/** Writes one JSON object, in ASCII: for facts that are looked at, not for what is moved. Not thread-safe. */
public final class Json {
  private final StringBuilder text = new StringBuilder("{");

  private Json() {}

  /** Begins an object. */
  public static Json object() {
    return new Json();
  }

  /** Adds a string. */
  public Json text(String key, String value) {
    key(key).append(quoted(value));
    return this;
  }

  /** Adds a number. */
  public Json number(String key, long value) {
    key(key).append(value);
    return this;
  }

  /** Adds a number of 64 bits without a sign. */
  public Json unsigned(String key, long value) {
    key(key).append(Long.toUnsignedString(value));
    return this;
  }

  /** Adds true or false. */
  public Json truth(String key, boolean value) {
    key(key).append(value);
    return this;
  }

  /** Adds an object that has begun elsewhere, and ends it. */
  public Json object(String key, Json value) {
    key(key).append(value.end());
    return this;
  }

  /** Adds a list of strings. */
  public Json texts(String key, Iterable<String> values) {
    return items(key, values, Json::quoted);
  }

  /** Adds an object of strings. */
  public Json texts(String key, Map<String, String> values) {
    Json map = object();
    values.forEach(map::text);
    return object(key, map);
  }

  /** Adds a list of what {@code json} makes of each. */
  public <T> Json items(String key, Iterable<T> values, Function<T, String> json) {
    StringBuilder list = key(key).append('[');
    String separator = "";
    for (T value : values) {
      list.append(separator).append(json.apply(value));
      separator = ",";
    }
    list.append(']');
    return this;
  }

  /** Ends the object and gives its text. */
  public String end() {
    return text.append('}').toString();
  }

  private StringBuilder key(String key) {
    if (text.length() > 1) {
      text.append(',');
    }
    return text.append(quoted(key)).append(':');
  }

  /** A string as JSON has it, with everything escaped that is not printable ASCII. */
  public static String quoted(String value) {
    StringBuilder quoted = new StringBuilder(value.length() + 2).append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c >= ' ' && c <= '~') {
        quoted.append(c);
      } else {
        String hex = Integer.toHexString(c);
        quoted.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
      }
    }
    return quoted.append('"').toString();
  }
}
