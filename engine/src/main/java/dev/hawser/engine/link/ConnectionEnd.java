/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Connection;
import java.util.function.Consumer;

/**
 * The way out of a connection: abort, drain, close. One that throws there is closed as it is and asked nothing any more, for
 * its chunks must come back, and whoever waits for its fence must be answered, all the same. Owner thread only.
 */
final class ConnectionEnd {
  private final Connection connection;
  private final Consumer<Throwable> complain;
  private boolean broken;

  /**
   * A way out that nothing stands in yet.
   *
   * @param complain is told of the first thing that was thrown
   */
  ConnectionEnd(Connection connection, Consumer<Throwable> complain) {
    this.connection = connection;
    this.complain = complain;
  }

  /** Whether it threw, and is asked nothing any more. */
  boolean isBroken() {
    return broken;
  }

  /** It threw while it was to end. */
  void broke(Throwable cause) {
    if (!broken) {
      broken = true;
      complain.accept(cause);
    }
  }

  void abort() {
    try {
      connection.abort();
    } catch (RuntimeException | Error e) {
      broke(e);
    }
  }

  boolean isDrained() {
    if (broken) {
      return true;
    }
    try {
      return connection.drained();
    } catch (RuntimeException | Error e) {
      broke(e);
      return true;
    }
  }

  void close() {
    try {
      connection.close();
    } catch (RuntimeException | Error e) {
      broke(e);
    }
  }
}
