/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What nodes say to each other beside the bytes that are measured: a verb and named values. On the wire it is a line of
 * text per value, {@code name=value}, in which {@code \} escapes.
 */
final class Message {
  private final String verb;
  private final Map<String, String> values = new LinkedHashMap<>();

  Message(String verb) {
    this.verb = verb;
  }

  String verb() {
    return verb;
  }

  Message put(String name, String value) {
    values.put(name, value);
    return this;
  }

  Message put(String name, long value) {
    return put(name, Long.toString(value));
  }

  Message put(String name, byte[] value) {
    return put(name, Base64.getEncoder().encodeToString(value));
  }

  @Nullable
  String textOrNull(String name) {
    return values.get(name);
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new BenchException("the message '" + verb + "' lacks '" + name + "'; both sides must be of one version");
    }
    return value;
  }

  long number(String name) {
    try {
      return Long.parseLong(text(name));
    } catch (NumberFormatException e) {
      throw new BenchException("the message '" + verb + "' has '" + name + "' of '" + text(name)
          + "', which is no number; both sides must be of one version", e);
    }
  }

  byte[] bytes(String name) {
    try {
      return Base64.getDecoder().decode(text(name));
    } catch (IllegalArgumentException e) {
      throw new BenchException("the message '" + verb + "' has a '" + name
          + "' that is not base64; both sides must be of one version", e);
    }
  }

  byte[] encode() {
    StringBuilder text = new StringBuilder(verb);
    values.forEach((name, value) -> text.append('\n').append(name).append('=')
        .append(value.replace("\\", "\\\\").replace("\n", "\\n")));
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  static Message decode(byte[] bytes) {
    String[] lines = new String(bytes, StandardCharsets.UTF_8).split("\n", -1);
    Message message = new Message(lines[0]);
    for (int i = 1; i < lines.length; i++) {
      int equals = lines[i].indexOf('=');
      if (equals < 1) {
        throw new BenchException("the message '" + message.verb + "' has a line without a name");
      }
      message.values.put(lines[i].substring(0, equals), unescape(lines[i].substring(equals + 1)));
    }
    return message;
  }

  private static String unescape(String value) {
    StringBuilder text = new StringBuilder(value.length());
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '\\' && i + 1 < value.length()) {
        i++;
        c = value.charAt(i) == 'n' ? '\n' : value.charAt(i);
      }
      text.append(c);
    }
    return text.toString();
  }

  @Override
  public String toString() {
    return verb + values;
  }
}
