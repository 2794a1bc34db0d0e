/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.Connection;

/** The target's side of the bootstrap: decides about every authenticated HELLO. Any thread. */
public interface HelloHandler {

  /**
   * A HELLO came in. The handler answers exactly once through {@code reply}, at once or later (when
   * the old session is completely fenced).
   */
  void hello(Hello hello, HelloReply reply);

  /**
   * The path generation that was welcomed is connected. Follows every welcome that did not end in
   * {@link #abandoned}.
   */
  void connected(Hello hello, Welcome welcome, Connection connection);

  /** The welcomed path generation did not come about: the initiator went away or the offer failed. */
  void abandoned(Hello hello, Welcome welcome);
}
