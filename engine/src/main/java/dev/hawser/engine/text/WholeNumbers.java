/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.text;

/** Whole numbers as settings have them. What is none and what lies outside are told in one way: by the range. */
public final class WholeNumbers {
  private WholeNumbers() {}

  /**
   * Reads one; {@code 0x} begins a hexadecimal one.
   *
   * @param name of the setting, as its user writes it
   * @throws IllegalArgumentException if it is none of that range; the message says so, and names the setting
   */
  public static long of(String name, String text, long least, long most) {
    long value;
    try {
      String digits = text.strip();
      value = digits.startsWith("0x") ? Long.parseLong(digits.substring(2), 16) : Long.parseLong(digits);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(outside(name, text, least, most), e);
    }
    if (value < least || value > most) {
      throw new IllegalArgumentException(outside(name, text, least, most));
    }
    return value;
  }

  private static String outside(String name, String text, long least, long most) {
    return "setting " + name + "=" + text + " is no whole number from " + least + " to " + most;
  }
}
