/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.List;

/**
 * The rails to post on, out of those that are here.
 *
 * @param wanted {@code name} or {@code transport:name}; empty: all
 */
record RailChoice(List<String> wanted) {

  RailChoice {
    wanted = List.copyOf(wanted);
  }

  /**
   * Checks that each is here.
   *
   * @param here the rails of this node, {@code transport:name}
   * @throws UnknownNameException if one is not
   */
  void check(List<String> here) {
    for (String name : wanted) {
      if (here.stream().noneMatch(rail -> isNamed(rail, name))) {
        throw new UnknownNameException("--rails " + name + ": there is no such rail here; there are " + here);
      }
    }
  }

  /** Those that belong to a transport; empty with {@link #leavesOut}: none does. */
  List<String> of(String transport, List<String> here) {
    return wanted.stream().filter(
        name -> here.stream().anyMatch(rail -> rail.startsWith(transport + ":") && isNamed(rail, name))).toList();
  }

  /** Whether a transport has none of the rails that are wanted. */
  boolean leavesOut(String transport, List<String> here) {
    return !wanted.isEmpty() && of(transport, here).isEmpty();
  }

  private static boolean isNamed(String rail, String name) {
    return rail.equals(name) || rail.substring(rail.indexOf(':') + 1).equals(name);
  }
}
