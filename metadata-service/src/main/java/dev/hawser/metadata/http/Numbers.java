/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

/** Values of query parameters and headers. A wrong one is a bad request that names the field. */
final class Numbers {
  private Numbers() {}

  /** An unsigned 64-bit decimal number. */
  static long unsigned(String field, String text) {
    if (isDigits(text)) {
      try {
        return Long.parseUnsignedLong(text);
      } catch (NumberFormatException tooGreat) {
        throw Problem.badRequest(field + " is " + shown(text) + "; the greatest is 18446744073709551615").exception();
      }
    }
    throw Problem.badRequest(field + " is " + shown(text) + "; give an unsigned decimal number").exception();
  }

  /** A decimal number from {@code min} to {@code max}. */
  static int between(String field, String text, int min, int max) {
    long value = unsigned(field, text);
    if (value < min || value > max) {
      throw Problem.badRequest(field + " is " + Long.toUnsignedString(value) + "; give " + min + " to " + max)
          .exception();
    }
    return (int) value;
  }

  /** {@code true} or {@code false}. */
  static boolean truth(String field, String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw Problem.badRequest(field + " is " + shown(text) + "; give true or false").exception();
    };
  }

  private static boolean isDigits(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return !text.isEmpty();
  }
}
