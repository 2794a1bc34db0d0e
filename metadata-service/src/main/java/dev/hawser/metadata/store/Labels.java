/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * An agent's labels, in the order of their keys.
 *
 * @param map unmodifiable; within the limits that {@link #of} checks
 */
public record Labels(SortedMap<String, String> map) {
  /** Labels of one agent. */
  public static final int MAX_LABELS = 32;

  public static final int MAX_KEY = 63;
  public static final int MAX_VALUE = 128;
  public static final Labels NONE = new Labels(Collections.emptySortedMap());

  public Labels {
    map = map.isEmpty() ? Collections.emptySortedMap() : Collections.unmodifiableSortedMap(new TreeMap<>(map));
    if (map.size() > MAX_LABELS) {
      throw new InvalidEnvelopeException("labels", "are " + map.size() + "; at most " + MAX_LABELS + " are allowed");
    }
    map.forEach(Labels::check);
  }

  public static Labels of(Map<String, String> map) {
    return map.isEmpty() ? NONE : new Labels(new TreeMap<>(map));
  }

  /** The form of a header: {@code key=value,key=value}; empty text is no label. */
  public static Labels parse(String text) {
    if (text.isBlank()) {
      return NONE;
    }
    TreeMap<String, String> map = new TreeMap<>();
    for (String pair : text.split(",", -1)) {
      String trimmed = pair.strip();
      int equals = trimmed.indexOf('=');
      if (equals < 0) {
        throw new InvalidEnvelopeException(
            "labels", "have " + Envelopes.shown(trimmed) + " without '='; write key=value,key=value");
      }
      String key = trimmed.substring(0, equals);
      if (map.put(key, trimmed.substring(equals + 1)) != null) {
        throw new InvalidEnvelopeException("labels", "have the key " + Envelopes.shown(key) + " twice");
      }
    }
    return of(map);
  }

  /** Whether this agent has the given value under the given key. */
  public boolean has(String key, String value) {
    return value.equals(map.get(key));
  }

  /** What {@link #parse} reads. */
  public String text() {
    if (map.isEmpty()) {
      return "";
    }
    StringBuilder text = new StringBuilder();
    map.forEach((key, value) -> text.append(text.isEmpty() ? "" : ",").append(key).append('=').append(value));
    return text.toString();
  }

  private static void check(String key, String value) {
    if (key.isEmpty() || key.length() > MAX_KEY || !consistsOf(key, "._/-")) {
      throw new InvalidEnvelopeException(
          "labels",
          "have the key " + Envelopes.shown(key) + "; a key is 1 to " + MAX_KEY + " letters, digits and . _ / -");
    }
    if (value.length() > MAX_VALUE || !consistsOf(value, "._/:@+-")) {
      throw new InvalidEnvelopeException(
          "labels",
          "have the value " + Envelopes.shown(value) + " under " + Envelopes.shown(key) + "; a value is at most "
              + MAX_VALUE + " letters, digits and . _ / : @ + -");
    }
  }

  private static boolean consistsOf(String text, String others) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (!Envelopes.isAlphanumeric(c) && others.indexOf(c) < 0) {
        return false;
      }
    }
    return true;
  }
}
