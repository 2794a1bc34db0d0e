/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.text.Quoted;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The devices that {@code NCCL_IB_HCA} names, as verbs' own setting says it: where nothing of ours names any, what is set up
 * for NCCL on a host holds for its transfers, too.
 *
 * @see <a href="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html">NCCL's environment variables</a>
 */
final class NcclDevices {
  static final String VARIABLE = "NCCL_IB_HCA";
  private static final String SETTING = "verbs.devices";
  /**
   * {@code name[:port[:rail[:plane]]]}; the port may be empty before a rail. Rails and planes, by which NCCL tells devices
   * apart, mean nothing here.
   */
  private static final Pattern ENTRY =
      Pattern.compile("(?<name>[\\w.-]+)(?::(?<port>\\d{1,3}|(?=:))(?::(?:-1|\\d{1,9})){0,2})?");
  private static final int MOST_PORT = 255;

  private NcclDevices() {}

  /**
   * Settings with that of {@code NCCL_IB_HCA} put in, unless they name devices already.
   *
   * @throws ConfigException if it is not as NCCL documents it
   */
  static Map<String, String> unless(Map<String, String> settings, Map<String, String> environment) {
    String value = environment.getOrDefault(VARIABLE, "").strip();
    if (value.isEmpty() || settings.containsKey(SETTING)) {
      return settings;
    }
    boolean excludes = value.startsWith("^");
    String rest = excludes ? value.substring(1) : value;
    boolean exact = rest.startsWith("=");
    List<String> devices = new ArrayList<>();
    for (String entry : (exact ? rest.substring(1) : rest).split(",", -1)) {
      if (!entry.isBlank()) { // NCCL, too, goes over these
        devices.add(device(value, entry.strip(), exact));
      }
    }
    if (devices.isEmpty()) {
      throw wrong(value, "it");
    }
    Map<String, String> all = new TreeMap<>(settings);
    all.put(SETTING, (excludes ? "^" : "") + String.join(",", devices));
    return all;
  }

  /** An entry of the list as verbs' setting has it. NCCL takes names for the beginnings of names; the port stands apart. */
  private static String device(String value, String entry, boolean exact) {
    Matcher matcher = ENTRY.matcher(entry);
    if (!matcher.matches()) {
      throw wrong(value, Quoted.of(entry));
    }
    String port = Objects.requireNonNullElse(matcher.group("port"), "");
    if (!port.isEmpty() && (Integer.parseInt(port) == 0 || Integer.parseInt(port) > MOST_PORT)) {
      throw wrong(value, Quoted.of(entry));
    }
    return matcher.group("name") + (exact ? "" : "*") + (port.isEmpty() ? "" : ":" + port);
  }

  private static ConfigException wrong(String value, String what) {
    return new ConfigException(VARIABLE, VARIABLE + "=" + Quoted.of(value) + " is not honoured: " + what
        + " names no device; write mlx5 for all whose names begin so, =mlx5_0,mlx5_1:1 for exact names and a port from 1 to "
        + MOST_PORT + ", and ^ before the list to exclude; or set HAWSER_VERBS_DEVICES, which goes before it");
  }
}
