/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.text;

/** What somebody else wrote, as errors show it: on one line, and so short that what to do about it is still read. */
public final class Quoted {
  /** The most characters that are shown. */
  private static final int MOST = 120;

  private Quoted() {}

  /** The text between quotation marks, cut where it is long. */
  public static String of(String text) {
    StringBuilder quoted = new StringBuilder(Math.min(text.length(), MOST) + 2).append('\'');
    for (int i = 0; i < Math.min(text.length(), MOST); i++) {
      char c = text.charAt(i);
      boolean half = Character.isSurrogate(c) && i + 1 == MOST;
      quoted.append(Character.isISOControl(c) || half ? '?' : c);
    }
    quoted.append('\'');
    return text.length() <= MOST
        ? quoted.toString()
        : quoted.insert(quoted.length() - 1, "…").append(" (").append(text.length()).append(" characters)").toString();
  }
}
