/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.capi.Functions;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.DeviceKind;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The memory that one worker shares with this process, by the worker's addresses, and what is registered of it: that
 * stays. Thread-safe; what may take time is done without the lock.
 */
final class WorkerMemories {
  private static final System.Logger LOG = System.getLogger(WorkerMemories.class.getName());

  private final TreeMap<Long, WorkerMemory> shared = new TreeMap<>(Long::compareUnsigned); // by start
  private final Map<Long, Registered> registered = new HashMap<>(); // by region
  private final List<Registered> beginning = new ArrayList<>();

  /**
   * Memory that an agent may be at, as the worker names it.
   *
   * @param device its number
   */
  record Registered(long agent, long address, long length, long device) {
    private boolean meets(long start, long bytes) {
      return address < start + bytes && start < address + length;
    }
  }

  /** Where the same memory is here. */
  record Place(long address, long device) {}

  /** Adds what is reached here from now on; false if there is something at that address already. */
  synchronized boolean add(long start, WorkerMemory memory) {
    return shared.putIfAbsent(start, memory) == null;
  }

  /** Ends that; false, and it stays, if something is registered there: whoever is at it would bring the process down. */
  boolean remove(long start) {
    WorkerMemory memory;
    synchronized (this) {
      memory = shared.get(start);
      if (memory == null) {
        return true;
      }
      long length = memory.length();
      if (Stream.concat(registered.values().stream(), beginning.stream()).anyMatch(of -> of.meets(start, length))) {
        return false;
      }
      shared.remove(start);
    }
    memory.letGo(start);
    return true;
  }

  /** Where memory is here that is about to be registered, and stays; empty if it is not shared. */
  synchronized Optional<Place> registers(Registered wanted) {
    Map.Entry<Long, WorkerMemory> around = around(wanted.address(), wanted.length());
    if (around == null) {
      return Optional.empty();
    }
    beginning.add(wanted);
    long address = wanted.address() + around.getValue().delta(around.getKey());
    return Optional.of(around.getValue() instanceof WorkerMemory.OfGpu gpu
        ? new Place(address, Functions.number(gpu.here().device()))
        : new Place(address, wanted.device()));
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

  /** A region as the worker registered it; null if it is none of that. */
  synchronized @Nullable Registered registered(long region) {
    return registered.get(region);
  }

  /** A region is closed, and nobody at it any more. */
  synchronized void closedRegion(long region) {
    registered.remove(region);
  }

  /** An agent is closed, with its regions. */
  synchronized void closedAgent(long agent) {
    registered.values().removeIf(of -> of.agent() == agent);
  }

  /**
   * Blocks of the worker's as they are to be reached here; empty if that is where the worker has them.
   *
   * @throws UnsharedBlocksException if they are a GPU's, and not shared
   */
  synchronized Optional<BlockList> here(BlockList blocks) {
    if (blocks.device().kind() != DeviceKind.CUDA) {
      return Optional.empty();
    }
    Optional<WorkerMemory.OfGpu> first = blocks.runs().stream().filter(run -> run.blockBytes() != 0).findFirst()
        .map(run -> ofGpu(blocks, run.firstIndex(), run.address(), run.extent()).getValue());
    return first.map(gpu -> blocks.moved(gpu.here().device(), (index, address, length) -> {
      Map.Entry<Long, WorkerMemory.OfGpu> around = ofGpu(blocks, index, address, length);
      return around.getValue().delta(around.getKey());
    }));
  }

  private Map.Entry<Long, WorkerMemory.OfGpu> ofGpu(BlockList blocks, int index, long address, long length) {
    Map.Entry<Long, WorkerMemory> around = around(address, length);
    if (around != null && around.getValue() instanceof WorkerMemory.OfGpu gpu
        && gpu.device() == Functions.number(blocks.device())) {
      return Map.entry(around.getKey(), gpu);
    }
    throw new UnsharedBlocksException("local[" + index + "]: 0x" + Long.toHexString(address) + ", " + length
        + " bytes from there on, is not within one allocation of " + blocks.device()
        + " that this process has registered memory of; register it, and keep the region open");
  }

  private Map.@Nullable Entry<Long, WorkerMemory> around(long address, long length) {
    Map.Entry<Long, WorkerMemory> below = shared.floorEntry(address);
    return below != null && length <= below.getValue().length() - (address - below.getKey()) ? below : null;
  }

  /** Behind the end of all agents, which may have used what goes here. */
  void end() {
    Map<Long, WorkerMemory> rest;
    synchronized (this) {
      rest = new TreeMap<>(shared);
      shared.clear();
    }
    rest.forEach((start, memory) -> {
      try {
        memory.letGo(start);
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "memory of a worker that has gone stays open: " + memory, e);
      }
    });
  }
}
