/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.UnixSockets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class EndedTest {
  private static final String NAME = "hawser-ended-test-" + ProcessHandle.current().pid();
  private final List<LogRecord> warnings = Collections.synchronizedList(new ArrayList<>());
  private final Logger logger = Logger.getLogger(Ended.class.getName());
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

  @BeforeEach
  void listen() {
    logger.addHandler(handler);
  }

  @AfterEach
  void listenNoLonger() {
    logger.removeHandler(handler);
  }

  /** A worker that ends with transfers under way takes the reading end with it. */
  @Test
  void whoReadsNoLongerIsNoFault() {
    int listener = UnixSockets.listen(NAME, 1);
    int writing = UnixSockets.connect(NAME);
    int reading = Sockets.accept(listener);
    Ended ended = new Ended();
    try {
      ended.signalTo(writing);
      Sockets.close(reading);
      ended.add(7);
    } finally {
      Sockets.close(writing);
      Sockets.close(listener);
    }

    assertThat(warnings).extracting(LogRecord::getMessage).isEmpty();

    ended.add(8); // it was closed without our being told, or is another's by now
    assertThat(warnings).hasSize(1);
  }
}
