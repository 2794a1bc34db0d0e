/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.text.Quoted;
import java.util.ArrayList;
import java.util.List;

/** Makes numeric {@code address:port} of what users write. */
final class ListenAddresses {
  private ListenAddresses() {}

  static List<String> resolve(Setting setting, Origin origin, List<String> items) {
    List<String> resolved = new ArrayList<>();
    for (String item : items) {
      resolve(setting, origin, item, resolved);
    }
    return List.copyOf(resolved);
  }

  private static void resolve(Setting setting, Origin origin, String item, List<String> resolved) {
    String host;
    String port;
    if (item.startsWith("[")) {
      int end = item.indexOf(']');
      if (end < 0 || (end + 1 < item.length() && item.charAt(end + 1) != ':')) {
        throw Values.wrong(setting, origin, item, "write [v6 address]:port");
      }
      host = item.substring(1, end);
      port = end + 1 < item.length() ? item.substring(end + 2) : "0";
    } else {
      int colon = item.lastIndexOf(':');
      boolean bareV6 = colon >= 0 && item.indexOf(':') != colon;
      host = colon < 0 || bareV6 ? item : item.substring(0, colon);
      port = colon < 0 || bareV6 ? "0" : item.substring(colon + 1);
    }
    String suffix = ":" + Values.integer(setting, origin, port, 0, 65_535);
    if (isV4(host)) {
      resolved.add(host.concat(suffix));
    } else if (host.indexOf(':') >= 0) {
      if (!isV6(host)) {
        throw Values.wrong(setting, origin, item, Quoted.of(host) + " is no IPv6 address; write [v6 address]:port");
      }
      resolved.add("[" + host + "]" + suffix);
    } else if (host.equals("localhost")) {
      resolved.add("127.0.0.1".concat(suffix));
    } else {
      addInterface(setting, origin, host, suffix, resolved);
    }
  }

  private static void addInterface(Setting setting, Origin origin, String name, String suffix, List<String> resolved) {
    List<String> names = new ArrayList<>();
    for (Interfaces.Interface nic : Interfaces.up()) {
      names.add(nic.name());
      if (nic.name().equals(name) && !nic.addresses().isEmpty()) {
        String address = nic.addresses().getFirst();
        resolved.add(address.indexOf(':') >= 0 ? "[" + address + "]" + suffix : address.concat(suffix));
        return;
      }
    }
    throw Values.wrong(setting, origin, name,
        "it is neither a numeric address nor an interface that is up and has one: "
            + String.join(", ", names));
  }

  static boolean isV4(String host) {
    int parts = 0;
    int start = 0;
    while (start <= host.length()) {
      int dot = host.indexOf('.', start);
      int end = dot < 0 ? host.length() : dot;
      if (!isByte(host, start, end)) {
        return false;
      }
      parts++;
      start = end + 1;
    }
    return parts == 4;
  }

  private static boolean isByte(String text, int start, int end) {
    if (end == start || end - start > 3) {
      return false;
    }
    int value = 0;
    for (int i = start; i < end; i++) {
      char c = text.charAt(i);
      if (c < '0' || c > '9') {
        return false;
      }
      value = value * 10 + c - '0';
    }
    return value <= 255;
  }

  static boolean isV6(String host) {
    int colons = 0;
    for (int i = 0; i < host.length(); i++) {
      char c = host.charAt(i);
      if (c == ':') {
        colons++;
      } else if (c != '.' && Character.digit(c, 16) < 0) {
        return false;
      }
    }
    return colons >= 2 && colons <= 7;
  }
}
