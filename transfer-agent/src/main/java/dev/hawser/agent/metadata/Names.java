/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import org.jspecify.annotations.Nullable;

/** What agents and regions may be called. */
public final class Names {
  /** The most characters of a name. */
  public static final int MAX_LENGTH = 128;

  private Names() {}

  /** Why {@code name} cannot be an agent's or a region's name, or null if it can. */
  public static @Nullable String problem(String name) {
    if (name.isEmpty() || name.length() > MAX_LENGTH) {
      return "it has " + name.length() + " characters; give 1 to " + MAX_LENGTH;
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      boolean alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!alphanumeric && (i == 0 || "._:@-".indexOf(c) < 0)) {
        return "the character at " + i
            + " is not allowed; use letters, digits and . _ : @ -, beginning with a letter or digit";
      }
    }
    return null;
  }
}
