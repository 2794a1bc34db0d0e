/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds what a mistyped name was meant to be. */
final class Spelling {
  private Spelling() {}

  /** The candidate that is fewest edits away, or null if none is near enough to be worth saying. */
  static @Nullable String nearest(String typed, List<String> candidates) {
    String best = null;
    int bestDistance = Math.max(2, typed.length() / 3) + 1;
    for (String candidate : candidates) {
      int distance = distance(typed, candidate);
      if (distance < bestDistance) {
        bestDistance = distance;
        best = candidate;
      }
    }
    return best;
  }

  /** Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
  static int distance(String a, String b) {
    int[] beforeLast = new int[b.length() + 1];
    int[] last = new int[b.length() + 1];
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      last[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substituted = last[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(substituted, Math.min(last[j], row[j - 1]) + 1);
        if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
          row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
        }
      }
      int[] free = beforeLast;
      beforeLast = last;
      last = row;
      row = free;
    }
    return last[b.length()];
  }
}
