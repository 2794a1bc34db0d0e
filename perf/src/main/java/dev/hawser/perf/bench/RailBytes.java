/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.engine.Link;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Payload acknowledged on each rail.
 *
 * @param bytes by the rail's name
 * @param paths by the rail's name, how many paths it has up
 */
record RailBytes(Map<String, Long> bytes, Map<String, Long> paths) {

  static RailBytes of(List<Link.PathReport> reports) {
    Map<String, Long> bytes = new TreeMap<>();
    Map<String, Long> paths = new TreeMap<>();
    for (Link.PathReport report : reports) {
      String name = report.transport() + ":" + report.rail();
      bytes.merge(name, report.bytesAcknowledged(), Long::sum);
      paths.merge(name, report.up() ? 1L : 0L, Long::sum);
    }
    return new RailBytes(bytes, paths);
  }

  /** What has been carried since an earlier look. */
  List<RailUse> since(RailBytes earlier) {
    List<RailUse> uses = new ArrayList<>();
    bytes.forEach((name, now) -> uses.add(new RailUse(name, now - earlier.bytes.getOrDefault(name, 0L),
        Map.of("paths_up", paths.getOrDefault(name, 0L)))));
    return uses;
  }

  void writeTo(Message message) {
    message.put("rails", String.join("\n", bytes.keySet()));
    bytes.forEach((name, count) -> message.put("bytes:" + name, count));
    paths.forEach((name, count) -> message.put("paths:" + name, count));
  }

  static RailBytes readFrom(Message message) {
    Map<String, Long> bytes = new TreeMap<>();
    Map<String, Long> paths = new TreeMap<>();
    message.text("rails").lines().forEach(name -> {
      bytes.put(name, message.number("bytes:" + name));
      paths.put(name, message.number("paths:" + name));
    });
    return new RailBytes(bytes, paths);
  }
}
