/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.util.ArrayList;
import java.util.List;

/**
 * Which devices and ports are used: {@code verbs.devices}. A list of {@code NAME}, {@code NAME:PORT} or, with a {@code *}
 * behind what a name begins with, {@code mlx5_*} or {@code mlx5_*:1}; a {@code ^} before the list excludes instead.
 *
 * @param text as the user wrote it
 * @param excludes whether those named are left out
 * @param entries empty for all devices
 */
record DeviceChoice(String text, boolean excludes, List<Entry> entries) {

  /**
   * What one word names.
   *
   * @param name a device's name, or how it begins
   * @param prefix whether it is how names begin
   * @param port 0 for each
   */
  record Entry(String name, boolean prefix, int port) {
    private boolean names(String device) {
      return prefix ? device.startsWith(name) : device.equals(name);
    }
  }

  DeviceChoice {
    entries = List.copyOf(entries);
  }

  /**
   * Reads a list.
   *
   * @throws IllegalArgumentException if it is none; the message says why, and names no setting
   */
  static DeviceChoice of(String text) {
    String list = text.strip();
    boolean excludes = list.startsWith("^");
    List<Entry> entries = new ArrayList<>();
    if (excludes) {
      list = list.substring(1);
    }
    if (!list.isEmpty() || excludes) {
      for (String word : list.split(",", -1)) {
        entries.add(entry(word.strip()));
      }
    }
    return new DeviceChoice(text.strip(), excludes, entries);
  }

  private static Entry entry(String word) {
    int colon = word.indexOf(':');
    String name = colon < 0 ? word : word.substring(0, colon);
    boolean prefix = name.endsWith("*");
    if (prefix) {
      name = name.substring(0, name.length() - 1);
    }
    int port = 0;
    if (colon >= 0) {
      try {
        port = Integer.parseInt(word.substring(colon + 1));
      } catch (NumberFormatException e) {
        throw new IllegalArgumentException("'" + word + "' has no port behind its colon; write mlx5_0:1", e);
      }
    }
    if ((name.isEmpty() && !prefix) || name.indexOf('*') >= 0 || port < 0 || port > 255 || (colon >= 0 && port == 0)) {
      throw new IllegalArgumentException("'" + word + "' names no device; write mlx5_0, mlx5_0:1 or mlx5_*");
    }
    return new Entry(name, prefix, port);
  }

  /** Whether a port is used. */
  boolean wants(String device, int port) {
    if (entries.isEmpty()) {
      return true;
    }
    return entries.stream().anyMatch(each -> each.names(device) && (each.port == 0 || each.port == port)) != excludes;
  }

  /** Why no port of a device is used; empty if one may be. */
  String obstacle(String device) {
    if (entries.isEmpty()) {
      return "";
    }
    if (excludes) {
      return entries.stream().anyMatch(each -> each.names(device) && each.port == 0)
          ? device + " is excluded by verbs.devices=" + text
          : "";
    }
    return entries.stream().noneMatch(each -> each.names(device))
        ? device + " is not among verbs.devices=" + text
        : "";
  }
}
