/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.capi.Functions;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** All workers that are here, and their connections. Thread-safe. */
final class Sessions {
  private static final System.Logger LOG = System.getLogger(Sessions.class.getName());

  private final Functions functions;
  private final int closeAgent;
  private final Map<String, Session> byKey = new HashMap<>(); // guarded by this
  private final Set<Connection> connections = new HashSet<>(); // guarded by this
  private volatile boolean draining;

  Sessions(Functions functions) {
    this.functions = functions;
    closeAgent = functions.names().indexOf("agent_close");
  }

  boolean isDraining() {
    return draining;
  }

  /** From now on nothing begins. */
  void drain() {
    draining = true;
  }

  synchronized void came(Connection connection) {
    connections.add(connection);
  }

  synchronized void gone(Connection connection) {
    connections.remove(connection);
    notifyAll();
  }

  /** The session of a key, with one connection more. */
  synchronized Session enter(byte[] key) {
    Session session = byKey.computeIfAbsent(HexFormat.of().formatHex(key), _ -> new Session());
    session.enter();
    return session;
  }

  /** A connection of a session has ended; with the last one its agents do. */
  void leave(Session session) {
    synchronized (this) {
      if (!session.leave()) {
        return;
      }
      byKey.values().remove(session);
    }
    for (long agent : session.takeAgents()) {
      if (functions.call(closeAgent, agent) < 0) {
        LOG.log(Level.WARNING, "closing an agent whose worker has gone: {0}", functions.lastError());
      }
    }
    session.end();
  }

  /**
   * Hangs up on all workers, and closes what is theirs.
   *
   * @param nanos at most how long to wait for those that are within a call
   * @return whether all have ended
   */
  boolean end(long nanos) throws InterruptedException {
    List<Session> present;
    synchronized (this) {
      connections.forEach(Connection::hangUp);
      present = List.copyOf(byKey.values());
    }
    // What waits within a call is woken by the end of its agent.
    for (Session session : present) {
      for (long agent : session.takeAgents()) {
        if (functions.call(closeAgent, agent) < 0) {
          LOG.log(Level.WARNING, "closing an agent at the end: {0}", functions.lastError());
        }
      }
    }
    long deadline = System.nanoTime() + nanos;
    synchronized (this) {
      while (!connections.isEmpty()) {
        long left = (deadline - System.nanoTime()) / 1_000_000;
        if (left <= 0) {
          return false;
        }
        wait(left);
      }
    }
    return true;
  }
}
