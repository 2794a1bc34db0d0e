/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Waits for the signal that ends the process, and holds the end up until this is closed: so much time there is to say
 * good-bye.
 */
final class UntilSignal implements AutoCloseable {
  private static final Duration LONGEST_GOODBYE = Duration.ofMinutes(2);

  private final CountDownLatch signalled = new CountDownLatch(1);
  private final CountDownLatch closed = new CountDownLatch(1);

  private UntilSignal() {}

  static UntilSignal install() {
    UntilSignal until = new UntilSignal();
    Runtime.getRuntime().addShutdownHook(new Thread(until::hook, "hawser-signal"));
    return until;
  }

  private void hook() {
    signalled.countDown();
    try {
      closed.await(LONGEST_GOODBYE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** As if the signal had come. */
  void release() {
    signalled.countDown();
  }

  void await() throws InterruptedException {
    signalled.await();
  }

  @Override
  public void close() {
    closed.countDown();
  }
}
