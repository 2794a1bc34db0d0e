/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Runs a client again while its server has not begun to listen. */
final class Retry {
  private static final Duration PAUSE = Duration.ofMillis(20);

  private Retry() {}

  /**
   * What the client prints.
   *
   * @throws PeerException the client's last failure, once the server is gone or the time is over
   */
  static String untilServed(Programs.Running server, Duration time, Supplier<String> client) {
    long deadline = System.nanoTime() + time.toNanos();
    while (true) {
      // The server says nowhere that it listens: to connect is the way to know.
      try {
        return client.get();
      } catch (PeerHangsException e) {
        throw e;
      } catch (PeerException e) {
        if (!server.isAlive() || deadline - System.nanoTime() <= 0) {
          throw e;
        }
      }
      LockSupport.parkNanos(PAUSE.toNanos());
    }
  }
}
