/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuMemory;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The rings of this process. They are made in the background when memory of a device is met first, go from one path to the
 * next, and are never freed: that would wait for all that the device does. Thread-safe.
 */
public final class Staging {
  private static final System.Logger LOG = System.getLogger("dev.hawser.staging");
  private static final int THREADS = 4;
  private static final long IDLE_SECONDS = 5;
  private static final ThreadPoolExecutor BACKGROUND = background();

  // Of the process, as drivers are.
  private static final Map<GpuMemory, Map<Kind, Deque<StagingRing>>> IDLE =
      Collections.synchronizedMap(new WeakHashMap<>());

  private record Kind(int ordinal, boolean shared) {}

  private final MemoryRegistry registry;
  private final boolean shared;

  /** Staging for what a registry registers. */
  public Staging(MemoryRegistry registry) {
    this(registry, false);
  }

  /**
   * Staging for what a registry registers.
   *
   * @param shared whether the rings are {@link SharedSlots}, which other processes can map
   */
  public Staging(MemoryRegistry registry, boolean shared) {
    this.registry = registry;
    this.shared = shared;
  }

  private static ThreadPoolExecutor background() {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("hawser-staging-", 0).factory());
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  /** A ring before a device, to be {@linkplain #give given back}; starts its driver if need be. Fails if there is none. */
  CompletableFuture<StagingRing> ring(Device device, PathStaging.Use use) {
    return CompletableFuture.supplyAsync(
        () -> {
          StagingRing ring = ring(device);
          boolean begun = false;
          try {
            use.begin(ring);
            begun = true;
            return ring;
          } finally {
            if (!begun) {
              give(device, ring);
            }
          }
        },
        BACKGROUND);
  }

  private StagingRing ring(Device device) {
    GpuMemory memory = memory(device);
    Gpu gpu = memory.gpu(device);
    StagingRing idle;
    synchronized (IDLE) {
      idle = rings(memory, gpu).poll();
    }
    if (idle != null) {
      return idle;
    }
    LOG.log(
        System.Logger.Level.INFO,
        "memory of {0} goes through pinned host memory on its way: slower than a transport that reaches it",
        device);
    return new StagingRing(gpu, shared ? SharedSlots.pinned(gpu) : null);
  }

  private GpuMemory memory(Device device) {
    DeviceMemory memory = registry.deviceMemory(device.kind());
    if (memory instanceof GpuMemory gpus) {
      return gpus;
    }
    throw new DeviceAbsentException(device.kind(), "the registry was given " + memory + ", which has no streams");
  }

  private Deque<StagingRing> rings(GpuMemory memory, Gpu gpu) {
    return IDLE.computeIfAbsent(memory, m -> new HashMap<>())
        .computeIfAbsent(new Kind(gpu.ordinal(), shared), kind -> new ArrayDeque<>());
  }

  /** Leaves a ring to other paths; it is idle. */
  void give(Device device, StagingRing ring) {
    if (ring.reset()) {
      synchronized (IDLE) {
        rings(memory(device), ring.gpu()).push(ring);
      }
    }
  }
}
