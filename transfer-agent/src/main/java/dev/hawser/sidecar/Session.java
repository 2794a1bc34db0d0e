/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What one worker has here: agents, descriptors that it is signalled by, and memory of its that is reached here. It goes
 * with the last of the worker's connections. Thread-safe.
 */
final class Session {
  private final Set<Long> agents = new HashSet<>();
  private final Map<Long, Integer> descriptors = new HashMap<>(); // by agent
  private final WorkerMemories memories = new WorkerMemories();
  private int connections;

  synchronized void enter() {
    connections++;
  }

  /** True if that was its last connection. */
  synchronized boolean leave() {
    connections--;
    return connections == 0;
  }

  synchronized void started(long agent) {
    agents.add(agent);
  }

  /** The agent and its signals are closed. */
  synchronized void closed(long agent) {
    agents.remove(agent);
    memories.closedAgent(agent);
    forgetSignals(agent);
  }

  /** An agent signals to a descriptor from now on; it is ours to close. */
  synchronized void signals(long agent, int descriptor) {
    forgetSignals(agent);
    descriptors.put(agent, descriptor);
  }

  synchronized void forgetSignals(long agent) {
    Integer old = descriptors.remove(agent);
    if (old != null) {
      Connection.closeAll(old);
    }
  }

  /** What it shares. */
  WorkerMemories memories() {
    return memories;
  }

  /** Those that are not closed yet; they are the caller's to close. */
  synchronized Set<Long> takeAgents() {
    Set<Long> taken = Set.copyOf(agents);
    agents.clear();
    return taken;
  }

  /** Behind the end of all its agents, which may have used what goes here. */
  void end() {
    synchronized (this) {
      Set.copyOf(descriptors.keySet()).forEach(this::forgetSignals);
    }
    memories.end();
  }
}
