/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Everything that is logged under a name until it is closed. */
final class CapturedLog implements AutoCloseable {
  private final Logger logger;
  private final BlockingQueue<LogRecord> lines = new LinkedBlockingQueue<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          lines.add(line);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  CapturedLog(String name) {
    logger = Logger.getLogger(name);
    handler.setLevel(Level.ALL);
    logger.setLevel(Level.ALL);
    logger.addHandler(handler);
  }

  /** In their order. */
  BlockingQueue<LogRecord> lines() {
    return lines;
  }

  @Override
  public void close() {
    logger.removeHandler(handler);
    logger.setLevel(null);
  }
}
