/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The warnings, and what is worse, that a logger and those below it got while this was open. Thread-safe. */
public final class LoggedWarnings implements AutoCloseable {
  private final List<LogRecord> warnings = new CopyOnWriteArrayList<>();
  private final Logger logger;
  private final Handler handler = new Handler() {
    @Override
    public void publish(LogRecord line) {
      if (line.getLevel().intValue() >= Level.WARNING.intValue()) {
        warnings.add(line);
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  };

  private LoggedWarnings(Logger logger) {
    this.logger = logger;
    logger.addHandler(handler);
  }

  /** Of this logger, from now on. */
  public static LoggedWarnings of(String logger) {
    return new LoggedWarnings(Logger.getLogger(logger));
  }

  /** Their texts, as they were given to the logger; also when this is closed. */
  public List<String> messages() {
    return warnings.stream().map(LogRecord::getMessage).toList();
  }

  @Override
  public void close() {
    logger.removeHandler(handler);
  }
}
