/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.memory.ffi.PageMappings;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What one worker has here: agents, descriptors that it is signalled by, and memory of its that is mapped here. It goes
 * with the last of the worker's connections. Thread-safe.
 */
final class Session {
  private final Set<Long> agents = new HashSet<>();
  private final Map<Long, Integer> descriptors = new HashMap<>(); // by agent
  private final Map<Long, Long> shared = new HashMap<>(); // length by start
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

  /** Maps memory of the worker's. */
  synchronized void share(long start, long length, int descriptor, long offset) {
    PageMappings.mapSharedAt(start, length, descriptor, offset);
    shared.put(start, length);
  }

  synchronized void unshare(long start) {
    Long length = shared.remove(start);
    if (length != null) {
      PageMappings.unmap(start, length);
    }
  }

  /** Whether some memory is of what the worker shares. */
  synchronized boolean isShared(long address, long length) {
    return shared.entrySet().stream()
        .anyMatch(e -> e.getKey() <= address && length <= e.getValue() - (address - e.getKey()));
  }

  /** Those that are not closed yet; they are the caller's to close. */
  synchronized Set<Long> takeAgents() {
    Set<Long> taken = Set.copyOf(agents);
    agents.clear();
    return taken;
  }

  /** Behind the end of all its agents, which may have used what goes here. */
  synchronized void end() {
    Set.copyOf(descriptors.keySet()).forEach(this::forgetSignals);
    Set.copyOf(shared.keySet()).forEach(this::unshare);
  }
}
