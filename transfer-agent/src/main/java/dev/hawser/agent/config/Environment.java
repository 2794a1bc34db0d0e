/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The environment as far as it concerns us. */
final class Environment {
  /** Names the configuration file. */
  static final String CONFIG = "HAWSER_CONFIG";

  /** Variables of ours that are no settings of an agent: the file, and what the launcher reads. */
  private static final List<String> OTHERS = List.of(CONFIG, "HAWSER_JAVA_HOME", "HAWSER_JAVA_OPTS");

  /** What the Python package and the scripts of the labs read; they judge their names themselves. */
  private static final List<String> OTHERS_BEGIN = List.of("HAWSER_PYTHON_", "HAWSER_LAB_");

  /** What Kubernetes (and Docker links) inject for a service whose name begins with "hawser". */
  private static final String SERVICE_HOST_OR_PORT = "HAWSER(_[A-Z0-9]+)*_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)";

  private static final String PORT_OF_PROTOCOL =
      "HAWSER(_[A-Z0-9]+)*_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?";
  private static final String PORT = "HAWSER(_[A-Z0-9]+)*_PORT";
  private static final String PORT_VALUE = "(tcp|udp|sctp)://.*";

  private Environment() {}

  /** What to say about each {@code HAWSER_*} variable that nobody reads, in the order of names. */
  static List<String> complaints(Map<String, String> environment) {
    List<String> complaints = new ArrayList<>();
    Map<String, String> ours = new TreeMap<>();
    for (Map.Entry<String, String> variable : environment.entrySet()) {
      if (variable.getKey().startsWith(Setting.PREFIX) && !isKnown(variable.getKey())) {
        ours.put(variable.getKey(), variable.getValue());
      }
    }
    for (Map.Entry<String, String> variable : ours.entrySet()) {
      if (!isInjected(variable.getKey(), variable.getValue())) {
        complaints.add(complaint(variable.getKey()));
      }
    }
    return complaints;
  }

  private static String complaint(String name) {
    @Nullable
    String nearest = Spelling.nearest(name, names());
    return "the environment variable " + name + " means nothing to Hawser; "
        + (nearest == null ? "'hawser config' lists those that do; unset it" : "did you mean " + nearest + "?");
  }

  private static boolean isKnown(String name) {
    for (Setting setting : Setting.values()) {
      if (setting.variable().equals(name)) {
        return true;
      }
    }
    return OTHERS.contains(name) || OTHERS_BEGIN.stream().anyMatch(name::startsWith) || TransportVariables.isOne(name);
  }

  private static List<String> names() {
    List<String> names = new ArrayList<>(OTHERS);
    for (Setting setting : Setting.values()) {
      names.add(setting.variable());
    }
    TransportVariables.names().forEach(names::add);
    return names;
  }

  /** Whether Kubernetes put it there: no mistake of the user's, and nothing that we read. */
  static boolean isInjected(String name, String value) {
    return Pattern.matches(SERVICE_HOST_OR_PORT, name) || Pattern.matches(PORT_OF_PROTOCOL, name)
        || (Pattern.matches(PORT, name) && Pattern.matches(PORT_VALUE, value));
  }
}
