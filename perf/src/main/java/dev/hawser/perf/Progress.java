/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.io.PrintWriter;

/** One line on a terminal that says what is being done; nothing where there is no terminal. */
final class Progress {
  private static final String ERASE = "\r\033[K";

  private final PrintWriter err;
  private final boolean wanted;
  private boolean shown;

  Progress(PrintWriter err, boolean wanted) {
    this.err = err;
    this.wanted = wanted;
  }

  /** Whether standard error is a terminal: Java cannot tell, but the launcher can. */
  static boolean isWanted() {
    return Boolean.getBoolean("hawser.terminal");
  }

  void show(String text) {
    if (wanted) {
      err.print(ERASE + text + " ...");
      err.flush();
      shown = true;
    }
  }

  void clear() {
    if (shown) {
      err.print(ERASE);
      err.flush();
      shown = false;
    }
  }
}
