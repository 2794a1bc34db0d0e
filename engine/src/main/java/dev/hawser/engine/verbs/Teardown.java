/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.lang.System.Logger.Level;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Gives queue pairs that have nothing under way any more back to their drivers, one after the other, on a thread of its own
 * that lives while there is work: on real devices each takes milliseconds, for which a worker would leave all other paths
 * alone.
 */
final class Teardown implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");
  private static final long IDLE_MILLIS = 100;
  private static final long PATIENCE_SECONDS = 10;

  private final ThreadPoolExecutor thread;

  Teardown(String agent) {
    thread =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_MILLIS,
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().name("hawser-verbs-teardown-" + agent).daemon(true).factory());
    thread.allowCoreThreadTimeOut(true);
  }

  /** Does it soon, or at once where all is being closed. A failure is logged: nobody waits for it. */
  void later(String what, Runnable teardown) {
    Runnable safely =
        () -> {
          try {
            teardown.run();
          } catch (RuntimeException e) {
            LOG.log(Level.WARNING, "verbs: " + what + " is not given back: " + e.getMessage(), e);
          }
        };
    try {
      thread.execute(safely);
    } catch (RejectedExecutionException closed) {
      safely.run();
    }
  }

  /** Waits until everything is given back. */
  @Override
  public void close() {
    thread.shutdown();
    boolean interrupted = false;
    while (true) {
      try {
        if (!thread.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          LOG.log(Level.WARNING, "verbs: a device has not given its queue pairs back in {0} s", PATIENCE_SECONDS);
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
