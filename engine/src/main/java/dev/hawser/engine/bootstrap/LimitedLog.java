/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

/**
 * One-line reasons why connections ended, at most a few each second: a scanner must not fill the disk. Loop thread only.
 */
final class LimitedLog {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.bootstrap");
  private static final int LINES_PER_SECOND = 10;
  private static final long SECOND = 1_000_000_000L;

  private long second = System.nanoTime();
  private int lines;
  private int dropped;

  void warn(String line) {
    long now = System.nanoTime();
    if (now - second >= SECOND) {
      if (dropped > 0) {
        LOG.log(System.Logger.Level.WARNING, "{0} more lines about ended connections were left out", dropped);
      }
      second = now;
      lines = 0;
      dropped = 0;
    }
    if (lines == LINES_PER_SECOND) {
      dropped++;
      return;
    }
    lines++;
    LOG.log(System.Logger.Level.WARNING, "{0}", line);
  }

  /** A mistake of ours, with its trace. */
  static void bug(String what, Throwable thrown) {
    LOG.log(System.Logger.Level.ERROR, what, thrown);
  }
}
