/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The devices that {@code NCCL_IB_HCA} names, as verbs' own setting says it: where nothing of ours names any, what is set up
 * for NCCL on a host holds for its transfers, too.
 *
 * @see <a href="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html">NCCL's environment variables</a>
 */
final class NcclDevices {
  static final String VARIABLE = "NCCL_IB_HCA";
  private static final String SETTING = "verbs.devices";

  private NcclDevices() {}

  /** Settings with that of {@code NCCL_IB_HCA} put in, unless they name devices already. */
  static Map<String, String> unless(Map<String, String> settings, Map<String, String> environment) {
    String value = environment.getOrDefault(VARIABLE, "").strip();
    if (value.isEmpty() || settings.containsKey(SETTING)) {
      return settings;
    }
    boolean excludes = value.startsWith("^");
    String rest = excludes ? value.substring(1) : value;
    boolean exact = rest.startsWith("=");
    List<String> names = Values.list(exact ? rest.substring(1) : rest);
    if (names.isEmpty()) {
      return settings;
    }
    Map<String, String> all = new TreeMap<>(settings);
    all.put(
        SETTING,
        names.stream().map(name -> exact ? name : prefix(name))
            .collect(Collectors.joining(",", excludes ? "^" : "", "")));
    return all;
  }

  /** NCCL takes names for the beginnings of names; the port stands apart. */
  private static String prefix(String name) {
    int colon = name.indexOf(':');
    return colon < 0 ? name + "*" : name.substring(0, colon) + "*" + name.substring(colon);
  }
}
