/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.text.Quoted;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A configuration file: lines of {@code key = value}, {@code #} begins a comment line. */
final class ConfigFile {
  private static final long MAX_BYTES = 1 << 20;

  /** A value and the line that it stands in. */
  record Line(String value, Origin origin) {}

  private ConfigFile() {}

  static Map<Setting, Line> read(Path path) {
    String text;
    try {
      if (Files.size(path) > MAX_BYTES) {
        throw new ConfigException(path.toString(), path + " is larger than 1 MiB; it is no configuration file");
      }
      text = Files.readString(path, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new ConfigException(path.toString(),
          "cannot read the configuration file " + path + ": " + e + "; check HAWSER_CONFIG");
    }
    Map<Setting, Line> lines = new EnumMap<>(Setting.class);
    int number = 0;
    for (String raw : text.lines().toList()) {
      number++;
      String line = raw.strip();
      if (!line.isEmpty() && line.charAt(0) != '#') {
        add(lines, path + ":" + number, line);
      }
    }
    return lines;
  }

  private static void add(Map<Setting, Line> lines, String where, String line) {
    int equals = line.indexOf('=');
    if (equals <= 0) {
      throw new ConfigException(where,
          where + ": " + Quoted.of(line) + " is no setting; write key = value, or # before a comment");
    }
    String key = line.substring(0, equals).strip();
    Setting setting = byKey(key);
    if (setting == null) {
      String nearest = Spelling.nearest(key, keys());
      throw new ConfigException(key, where + ": there is no setting " + Quoted.of(key)
          + (nearest == null ? "; 'hawser config' lists them" : "; did you mean '" + nearest + "'?"));
    }
    if (lines.put(setting,
        new Line(line.substring(equals + 1).strip(), new Origin(Origin.Source.FILE, where))) != null) {
      throw new ConfigException(key, where + ": '" + key + "' is set twice in this file; keep one");
    }
  }

  private static @Nullable Setting byKey(String key) {
    for (Setting setting : Setting.values()) {
      if (setting.key().equals(key)) {
        return setting;
      }
    }
    return null;
  }

  private static List<String> keys() {
    return java.util.Arrays.stream(Setting.values()).map(Setting::key).toList();
  }
}
