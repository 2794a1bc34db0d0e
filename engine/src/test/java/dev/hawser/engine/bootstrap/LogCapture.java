/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.text.MessageFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What the bootstrap logged while this was open. */
final class LogCapture extends Handler implements AutoCloseable {
  private final Logger logger = Logger.getLogger("dev.hawser.engine.bootstrap");
  private final List<String> lines = new CopyOnWriteArrayList<>();

  LogCapture() {
    logger.addHandler(this);
    logger.setUseParentHandlers(false);
  }

  List<String> lines() {
    return lines;
  }

  @Override
  public void publish(LogRecord line) {
    String thrown = line.getThrown() == null ? "" : " " + line.getThrown();
    lines.add(line.getLevel() + " " + MessageFormat.format(line.getMessage(), line.getParameters()) + thrown);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
    logger.setUseParentHandlers(true);
  }
}
