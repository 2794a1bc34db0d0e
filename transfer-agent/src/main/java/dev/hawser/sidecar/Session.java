/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import static java.util.Objects.requireNonNull;

import dev.hawser.memory.ffi.PageMappings;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What one worker has here: agents, descriptors that it is signalled by, and memory of its that is mapped here. It goes
 * with the last of the worker's connections. Thread-safe.
 */
final class Session {
  private final Set<Long> agents = new HashSet<>();
  private final Map<Long, Integer> descriptors = new HashMap<>(); // by agent
  private final Map<Long, Long> shared = new HashMap<>(); // length by start
  private final Map<Long, Registered> registered = new HashMap<>(); // by region
  private final List<Registered> beginning = new ArrayList<>();
  private int connections;

  /** Memory of the worker's that an agent may be at. */
  record Registered(long agent, long address, long length) {
    private boolean meets(long start, long bytes) {
      return address < start + bytes && start < address + length;
    }
  }

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
    registered.values().removeIf(of -> of.agent() == agent);
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

  /** Ends that; false, and it stays, if something is registered there: whoever is at it would bring the process down. */
  synchronized boolean unshare(long start) {
    Long length = shared.get(start);
    if (length == null) {
      return true;
    }
    if (Stream.concat(registered.values().stream(), beginning.stream()).anyMatch(of -> of.meets(start, length))) {
      return false;
    }
    unmap(start);
    return true;
  }

  private void unmap(long start) {
    PageMappings.unmap(start, requireNonNull(shared.remove(start)));
  }

  /** Memory is about to be registered, and stays mapped; false if it is not shared. */
  synchronized boolean registers(Registered memory) {
    return isShared(memory.address(), memory.length()) && beginning.add(memory);
  }

  /**
   * It was.
   *
   * @param region its handle; null if it was refused
   */
  synchronized void hasRegistered(Registered memory, @Nullable Long region) {
    beginning.remove(memory);
    if (region != null) {
      registered.put(region, memory);
    }
  }

  /** A region is closed, and nobody at it any more. */
  synchronized void closedRegion(long region) {
    registered.remove(region);
  }

  /** Whether some memory is of what the worker shares. */
  private boolean isShared(long address, long length) {
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
    Set.copyOf(shared.keySet()).forEach(this::unmap);
  }
}
