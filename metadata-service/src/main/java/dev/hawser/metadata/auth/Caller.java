/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

import java.util.List;

/**
 * Who asks.
 *
 * @param subject for the log: never a secret
 * @param role what it may do
 * @param names patterns of the agents that it owns, in which {@code *} stands for any characters
 */
public record Caller(String subject, Role role, List<String> names) {
  /** Everyone, where no authentication is set up. */
  public static final Caller ANYONE = new Caller("anyone", Role.ADMIN, List.of());

  public Caller {
    names = List.copyOf(names);
  }

  /** Whether it may publish, renew and delete this agent. */
  public boolean owns(String name) {
    return switch (role) {
      case READ -> false;
      case PUBLISH -> names.stream().anyMatch(pattern -> matches(pattern, name));
      case ADMIN -> true;
    };
  }

  /** Linear in both, for one star is all that it has to remember. */
  static boolean matches(String pattern, String name) {
    int p = 0;
    int n = 0;
    int star = -1;
    int resume = 0;
    while (n < name.length()) {
      if (p < pattern.length() && pattern.charAt(p) == '*') {
        star = p++;
        resume = n;
      } else if (p < pattern.length() && pattern.charAt(p) == name.charAt(n)) {
        p++;
        n++;
      } else if (star >= 0) {
        p = star + 1;
        n = ++resume;
      } else {
        return false;
      }
    }
    while (p < pattern.length() && pattern.charAt(p) == '*') {
      p++;
    }
    return p == pattern.length();
  }
}
