/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Runs what belongs to the user: never on a thread of the engine. */
final class Callbacks {
  /** A virtual thread for each. */
  static final Executor VIRTUAL = Callbacks::startVirtual;

  private static final System.Logger LOG = System.getLogger(Callbacks.class.getName());

  private final Executor executor;

  Callbacks(Executor executor) {
    this.executor = executor;
  }

  /** Runs it soon. If the user's executor refuses, a virtual thread does it: an end is never lost. */
  void run(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      LOG.log(Level.WARNING, "the callback executor refused a callback; it runs on a virtual thread", e);
      startVirtual(task);
    }
  }

  private static void startVirtual(Runnable task) {
    Thread.ofVirtual().name("hawser-callback").start(task);
  }
}
