/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.UnixSockets;
import dev.hawser.engine.testkit.LoggedWarnings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EndedTest {
  private static final String NAME = "hawser-ended-test-" + ProcessHandle.current().pid();
  private final LoggedWarnings warnings = LoggedWarnings.of(Ended.class.getName());

  @AfterEach
  void listenNoLonger() {
    warnings.close();
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

    assertThat(warnings.messages()).isEmpty();

    ended.add(8); // it was closed without our being told, or is another's by now
    assertThat(warnings.messages()).hasSize(1);
  }
}
