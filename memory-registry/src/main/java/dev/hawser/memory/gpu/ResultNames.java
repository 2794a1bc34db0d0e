/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.util.HashMap;
import java.util.Map;

/** The names of a driver's results, from a table of its own: a number, a space and the rest of the name on each line. */
public final class ResultNames {
  private final Map<Integer, String> names = new HashMap<>();
  private final String unknown;

  /**
   * The names in a table.
   *
   * @param prefix what every name begins with
   * @param unknown what stands before the number of a result without a name
   * @param table a line for each
   */
  public ResultNames(String prefix, String unknown, String table) {
    this.unknown = unknown;
    table
        .lines()
        .forEach(
            line -> {
              int space = line.indexOf(' ');
              names.put(Integer.valueOf(line.substring(0, space)), prefix + line.substring(space + 1));
            });
  }

  /** The name of a result. */
  public String of(int result) {
    return names.getOrDefault(result, unknown + " " + result);
  }
}
