/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.MonotonicClock;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The open connections of one event loop, and how long they may take: a request that trickles in, a byte now and then,
 * holds a connection no longer than one that never comes. On its loop only.
 */
final class Connections {
  private static final System.Logger LOG = System.getLogger(Connections.class.getName());

  private final MonotonicClock clock;
  private final HttpSettings settings;
  private final AtomicInteger open;
  private final IdentityHashMap<HttpConnection, State> states = new IdentityHashMap<>();

  private static final class State {
    /** Since when it waits for a request to arrive completely. */
    private long since;

    private boolean first = true;

    /** Requests that have arrived and are not answered. */
    private int serving;

    /** Within the request's body. */
    private boolean receiving;
  }

  /**
   * @param open counts those of all loops
   */
  Connections(MonotonicClock clock, HttpSettings settings, AtomicInteger open) {
    this.clock = clock;
    this.settings = settings;
    this.open = open;
  }

  void opened(HttpConnection connection) {
    State state = new State();
    state.since = clock.nanos();
    states.put(connection, state);
    int now = open.incrementAndGet();
    connection.closeHandler(
        closed -> {
          states.remove(connection);
          open.decrementAndGet();
        });
    if (now > settings.maxConnections()) {
      LOG.log(
          System.Logger.Level.WARNING,
          "Closed a connection from {0}: {1} are open, the limit (--max-connections) is {2}",
          connection.remoteAddress(),
          now,
          settings.maxConnections());
      close(connection);
    }
  }

  /** The head of a request has arrived. */
  void began(HttpConnection connection) {
    State state = states.get(connection);
    if (state != null) {
      state.first = false;
      state.serving++;
      state.receiving = true;
      state.since = clock.nanos();
    }
  }

  /** Its body has arrived too. */
  void received(HttpConnection connection) {
    State state = states.get(connection);
    if (state != null) {
      state.receiving = false;
    }
  }

  /** It is answered. */
  void answered(HttpConnection connection) {
    State state = states.get(connection);
    if (state != null) {
      state.serving--;
      state.receiving = false;
      state.since = clock.nanos();
    }
  }

  /** Closes those that take too long. */
  void sweep() {
    long now = clock.nanos();
    for (Map.Entry<HttpConnection, State> entry : new ArrayList<>(states.entrySet())) {
      State state = entry.getValue();
      if (state.serving > 0 && !state.receiving) {
        continue;
      }
      long allowed = state.first || state.receiving ? settings.requestMillis() : settings.idleMillis();
      if (now - state.since > TimeUnit.MILLISECONDS.toNanos(allowed)) {
        LOG.log(
            System.Logger.Level.DEBUG,
            "Closed a connection from {0}: no complete request within {1} ms",
            entry.getKey().remoteAddress(),
            allowed);
        close(entry.getKey());
      }
    }
  }

  private static void close(HttpConnection connection) {
    Future<Void> _ = connection.close();
  }
}
