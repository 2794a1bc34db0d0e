/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.text.Quoted;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
    String text = text(path);
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

  private static String text(Path path) {
    if (Files.isDirectory(path)) {
      throw new ConfigException(path.toString(),
          "HAWSER_CONFIG names " + path + ", which is a folder; name a file with lines of key = value");
    }
    try {
      if (Files.size(path) > MAX_BYTES) {
        throw new ConfigException(path.toString(), "HAWSER_CONFIG names " + path
            + ", which is larger than 1 MiB and no configuration file; name one with lines of key = value");
      }
      return Files.readString(path, StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      throw new ConfigException(path.toString(),
          "HAWSER_CONFIG names " + path + ", which there is not; name a file that is there, or unset it");
    } catch (AccessDeniedException e) {
      throw new ConfigException(path.toString(),
          "HAWSER_CONFIG names " + path + ", which this user may not read; allow that, or name another file");
    } catch (CharacterCodingException e) {
      throw new ConfigException(path.toString(), "HAWSER_CONFIG names " + path
          + ", which is no text in UTF-8 and no configuration file; name one with lines of key = value");
    } catch (IOException e) {
      throw new ConfigException(path.toString(),
          "HAWSER_CONFIG names " + path + ", which cannot be read (" + e + "); name another file");
    }
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
