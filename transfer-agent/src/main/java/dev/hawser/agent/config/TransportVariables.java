/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.spi.TransportProvider;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;

/**
 * Each setting of each transport as an environment variable of its own: {@code HAWSER_TCP_SEND_BUFFER} is {@code
 * tcp.send-buffer}.
 */
final class TransportVariables {
  /** Names of settings by the names of their variables. */
  private static final Map<String, String> SETTINGS = settings();

  private TransportVariables() {}

  private static Map<String, String> settings() {
    Map<String, String> settings = new TreeMap<>();
    for (TransportProvider provider : ServiceLoader.load(TransportProvider.class,
        TransportVariables.class.getClassLoader())) {
      for (String setting : provider.settings()) {
        String name = provider.name() + "." + setting;
        settings.put(Setting.PREFIX + name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT), name);
      }
    }
    return Map.copyOf(settings);
  }

  /** The names of all of them. */
  static Iterable<String> names() {
    return SETTINGS.keySet();
  }

  static boolean isOne(String variable) {
    return SETTINGS.containsKey(variable);
  }

  /** Settings with those of the environment put in: over what a list in the environment or a file says. */
  static Map<String, String> over(Map<String, String> listed, Map<String, String> environment) {
    Map<String, String> all = new TreeMap<>(listed);
    SETTINGS.forEach(
        (variable, setting) -> {
          String value = environment.get(variable);
          if (value != null && !value.isBlank()) {
            all.put(setting, value.strip());
          }
        });
    return all;
  }
}
