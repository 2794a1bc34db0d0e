/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.agent.config.Setting;
import dev.hawser.engine.text.Quoted;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the settings of {@code agent_start}: lines of key=value. Behind a line {@code [environment]} come the variables that
 * are to count instead of those that the JVM found when it started, for a program can have changed them since.
 */
final class Settings {
  private static final String ENVIRONMENT = "[environment]";

  private Settings() {}

  static HawserConfig of(String name, @Nullable String lines) {
    HawserConfig.Builder builder = HawserConfig.builder().name(name);
    Map<String, String> environment = null;
    for (String line : lines == null ? new String[0] : lines.split("\n", -1)) {
      if (line.isBlank()) {
        continue;
      }
      if (line.strip().equals(ENVIRONMENT)) {
        environment = new HashMap<>();
        continue;
      }
      int equals = line.indexOf('=');
      if (equals <= 0) {
        throw new IllegalArgumentException("settings: " + Quoted.of(line.strip()) + " is not key=value");
      }
      String key = line.substring(0, equals).strip();
      String value = line.substring(equals + 1);
      if (environment != null) {
        environment.put(key, value);
      } else {
        set(builder, key, value);
      }
    }
    if (environment != null) {
      builder.environment(environment);
    }
    return builder.build();
  }

  private static void set(HawserConfig.Builder builder, String key, String value) {
    Setting setting = Arrays.stream(Setting.values()).filter(each -> each.key().equals(key)).findAny()
        .orElseThrow(
            () -> new IllegalArgumentException("settings: there is no setting " + Quoted.of(key) + "; there are "
                + Arrays.stream(Setting.values()).map(Setting::key).toList()));
    switch (setting) {
      case SECRET -> builder.secret(Secret.of(value));
      case METADATA_TOKEN -> builder.metadataToken(Secret.of(value));
      default -> builder.set(setting, value);
    }
  }
}
