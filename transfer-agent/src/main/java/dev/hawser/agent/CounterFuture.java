/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.Engine;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The expectation of a number of arrivals at a counter. Completes with that number. Thread-safe. */
public final class CounterFuture extends LazyStage<Long> {
  private final Engine engine;
  private final CounterTable table;
  private final Callbacks callbacks;
  private final long counter;
  private final long expected;

  /** Null while open; otherwise this very object if it is fulfilled, or the exception. */
  private volatile @Nullable Object outcome;

  CounterFuture(Engine engine, CounterTable table, Callbacks callbacks, long counter, long expected) {
    this.engine = engine;
    this.table = table;
    this.callbacks = callbacks;
    this.counter = counter;
    this.expected = expected;
  }

  /** The counter. */
  public long counter() {
    return counter;
  }

  /** How many arrivals. */
  public long expected() {
    return expected;
  }

  /** Whether all have arrived, or the expectation is over; moves the engine on if nobody else is at it. */
  public boolean poll() {
    if (outcome == null) {
      engine.poll();
    }
    return outcome != null;
  }

  /**
   * Waits for the arrivals, helping the engine on this thread.
   *
   * @throws AwaitTimeoutException if the time is over first; the expectation stands
   * @throws ExpectationCancelledException if it was cancelled
   * @throws AgentException if the agent is closed
   */
  public void await(Duration timeout) {
    if (outcome == null && !engine.await(this::isOver, timeout)) {
      throw new AwaitTimeoutException("counter " + counter + " had " + table.arrivals(counter) + " of " + expected
          + " arrivals after " + timeout + "; wait longer, or ask whether the peers send them");
    }
    if (outcome instanceof AgentException failure) {
      throw failure;
    }
  }

  /** Gives the expectation up; what has arrived stays counted for the next one. */
  public void cancel() {
    table.withdraw(this);
    finish(new ExpectationCancelledException(
        "the expectation of " + expected + " arrivals at counter " + counter + " was cancelled"));
  }

  void fulfil() {
    finish(this);
  }

  void fail(AgentException failure) {
    finish(failure);
  }

  private boolean isOver() {
    return outcome != null;
  }

  private void finish(Object newOutcome) {
    synchronized (this) {
      if (outcome != null) {
        return;
      }
      outcome = newOutcome;
    }
    CompletableFuture<Long> stage = stageOrNull();
    if (stage != null) {
      completeIfEnded(stage);
    }
  }

  @Override
  void completeIfEnded(CompletableFuture<Long> future) {
    Object now = outcome;
    if (now instanceof AgentException failure) {
      callbacks.run(() -> future.completeExceptionally(failure));
    } else if (now != null) {
      callbacks.run(() -> future.complete(expected));
    }
  }
}
