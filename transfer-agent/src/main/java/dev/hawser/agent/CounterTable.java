/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Arrivals by counter. They are counted whether anybody expects them or not, so that it does not matter who comes first:
 * the peer's data, or the call of expect.
 */
final class CounterTable {
  /** Counters that arrivals may open without being expected; beyond, something is wrong, and arrivals are refused. */
  static final int MAX_UNEXPECTED = 1 << 16;

  private final Map<Long, Counter> counters = new HashMap<>();
  private long dropped;
  private boolean closed;

  private static final class Counter {
    long arrived;
    final ArrayDeque<CounterFuture> waiting = new ArrayDeque<>();
  }

  /** Engine threads: one arrival. Gives the expectation that is thereby fulfilled, or null. */
  synchronized List<CounterFuture> arrived(long number) {
    Counter counter = counters.get(number);
    if (counter == null) {
      if (counters.size() >= MAX_UNEXPECTED) {
        dropped++;
        return List.of();
      }
      counter = new Counter();
      counters.put(number, counter);
    }
    counter.arrived++;
    return fulfilled(number, counter);
  }

  /** Adds an expectation; those that are fulfilled by it are returned. */
  synchronized List<CounterFuture> expect(CounterFuture future, String agent) {
    if (closed) {
      throw new AgentClosedException(agent);
    }
    if (dropped > 0) {
      throw new IllegalStateException(
          "counter: " + dropped + " arrivals were dropped because more than " + MAX_UNEXPECTED
              + " counters had arrivals that nobody expected; expect counters, or use fewer");
    }
    Counter counter = counters.computeIfAbsent(future.counter(), _ -> new Counter());
    counter.waiting.add(future);
    return fulfilled(future.counter(), counter);
  }

  /** Takes an expectation back; the arrivals stay counted. */
  synchronized void withdraw(CounterFuture future) {
    Counter counter = counters.get(future.counter());
    if (counter != null) {
      counter.waiting.remove(future);
      forgetIfEmpty(future.counter(), counter);
    }
  }

  synchronized long arrivals(long number) {
    Counter counter = counters.get(number);
    return counter == null ? 0 : counter.arrived;
  }

  synchronized List<CounterFuture> close() {
    closed = true;
    List<CounterFuture> open = new ArrayList<>();
    counters.values().forEach(counter -> open.addAll(counter.waiting));
    counters.clear();
    return open;
  }

  private List<CounterFuture> fulfilled(long number, Counter counter) {
    CounterFuture first = counter.waiting.peek();
    if (first == null || counter.arrived < first.expected()) {
      return List.of();
    }
    List<CounterFuture> done = new ArrayList<>();
    for (; first != null && counter.arrived >= first.expected(); first = counter.waiting.peek()) {
      counter.arrived -= first.expected();
      counter.waiting.remove();
      done.add(first);
    }
    forgetIfEmpty(number, counter);
    return done;
  }

  private void forgetIfEmpty(long number, Counter counter) {
    if (counter.arrived == 0 && counter.waiting.isEmpty()) {
      counters.remove(number);
    }
  }
}
