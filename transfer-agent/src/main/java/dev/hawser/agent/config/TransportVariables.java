/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.text.Quoted;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;

/**
 * Each setting of each transport as an environment variable of its own: {@code HAWSER_TCP_SEND_BUFFER} is {@code
 * tcp.send-buffer}.
 */
final class TransportVariables {
  private static final Map<String, TransportProvider> PROVIDERS = providers();
  /** Names of settings by the names of their variables. */
  private static final Map<String, String> SETTINGS = settings();

  private TransportVariables() {}

  private static Map<String, TransportProvider> providers() {
    Map<String, TransportProvider> providers = new TreeMap<>();
    for (TransportProvider provider : ServiceLoader.load(TransportProvider.class,
        TransportVariables.class.getClassLoader())) {
      providers.put(provider.name(), provider);
    }
    return Collections.unmodifiableMap(providers);
  }

  private static Map<String, String> settings() {
    Map<String, String> settings = new TreeMap<>();
    for (TransportProvider provider : PROVIDERS.values()) {
      for (String setting : provider.settings()) {
        String name = provider.name() + "." + setting;
        settings.put(Setting.PREFIX + name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT), name);
      }
    }
    return Collections.unmodifiableMap(settings);
  }

  /** The names of the transports that this build has, whether or not they work here. */
  static Set<String> transports() {
    return PROVIDERS.keySet();
  }

  /**
   * Checks settings of transports.
   *
   * @param all by {@code transport.setting}
   * @param listOrigin where those come from that have no variable of their own in the environment
   * @throws ConfigException if there is no such setting, or its value cannot be
   */
  static void check(Map<String, String> all, Map<String, String> environment, Origin listOrigin) {
    all.forEach((name, value) -> {
      if (!SETTINGS.containsValue(name)) {
        String nearest = Spelling.nearest(name, List.copyOf(SETTINGS.values()));
        throw new ConfigException(Setting.TRANSPORT_SETTINGS.key(),
            Setting.TRANSPORT_SETTINGS.key() + ": there is no setting " + Quoted.of(name) + " (from " + listOrigin
                + "); "
                + (nearest == null
                    ? "there are " + String.join(", ", SETTINGS.values())
                    : "did you mean '" + nearest + "'?"));
      }
      int dot = name.indexOf('.');
      TransportProvider provider = PROVIDERS.get(name.substring(0, dot));
      if (provider == null) {
        throw new IllegalStateException("a setting without its transport: " + name);
      }
      try {
        provider.check(name.substring(dot + 1), value);
      } catch (IllegalArgumentException e) {
        throw new ConfigException(name,
            e.getMessage() + " (from " + origin(name, value, environment, listOrigin) + ")");
      }
    });
  }

  private static Origin origin(String name, String value, Map<String, String> environment, Origin listOrigin) {
    for (Map.Entry<String, String> setting : SETTINGS.entrySet()) {
      if (setting.getValue().equals(name) && listOrigin.source() != Origin.Source.BUILDER
          && value.equals(environment.getOrDefault(setting.getKey(), "").strip())) {
        return new Origin(Origin.Source.ENVIRONMENT, setting.getKey());
      }
    }
    return listOrigin;
  }

  /** The names of all of them. */
  static Iterable<String> names() {
    return SETTINGS.keySet();
  }

  static boolean isOne(String variable) {
    return SETTINGS.containsKey(variable);
  }

  /** Those that the environment sets. */
  static List<String> setIn(Map<String, String> environment) {
    return SETTINGS.keySet().stream().filter(variable -> !environment.getOrDefault(variable, "").isBlank()).toList();
  }

  /** Settings with those of the environment put in: over what a list in the environment or a file says. */
  static Map<String, String> over(Map<String, String> listed, Map<String, String> environment) {
    Map<String, String> all = new TreeMap<>(listed);
    for (Map.Entry<String, String> setting : SETTINGS.entrySet()) {
      String value = environment.getOrDefault(setting.getKey(), "").strip();
      if (!value.isEmpty()) {
        all.put(setting.getValue(), value);
      }
    }
    return all;
  }
}
