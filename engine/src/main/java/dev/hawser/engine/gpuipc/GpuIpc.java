/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.gpu.DriverGate;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuMemory;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What all paths of one engine share: the driver, which is started when the first region of a device is met, what is open and
 * pinned, and the threads for calls of the driver that may take time, or block while a device hangs. Thread-safe.
 */
final class GpuIpc {
  // Of the process, as the driver is: engines share what is pinned and open.
  private static final Map<GpuMemory, HostPins> PINS = Collections.synchronizedMap(new WeakHashMap<>());
  private static final Map<GpuMemory, LanePool> LANES = Collections.synchronizedMap(new WeakHashMap<>());
  private static final Map<GpuMemory, OpenedMemory> OPENED = Collections.synchronizedMap(new WeakHashMap<>());

  /** So many calls may block before others wait for them. */
  private static final int THREADS = 8;

  private static final long IDLE_SECONDS = 5;
  private static final ThreadPoolExecutor BACKGROUND = background();

  private final Supplier<GpuMemory> driver;
  private final int self;
  private @Nullable CompletableFuture<GpuMemory> memory; // guarded by this
  private volatile @Nullable DriverGate gate;

  /**
   * What paths share.
   *
   * @param driver gives the devices; called once, in the background, when one is needed
   * @param self this process, whose own allocations need not be opened
   */
  GpuIpc(Supplier<GpuMemory> driver, int self) {
    this.driver = driver;
    this.self = self;
  }

  private static ThreadPoolExecutor background() {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("hawser-gpu-ipc-", 0).factory());
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  private GpuMemory started(GpuMemory devices) {
    gate = devices.gpu(0).gate();
    return devices;
  }

  /** Starts the driver in the background, if nobody did. */
  synchronized CompletableFuture<GpuMemory> start() {
    CompletableFuture<GpuMemory> known = memory;
    if (known == null) {
      known = inBackground(driver).thenApply(this::started);
      memory = known;
    }
    return known;
  }

  /**
   * The devices; waits for the driver to start, if it has not.
   *
   * @throws dev.hawser.memory.DeviceAbsentException if there are none
   */
  GpuMemory memory() {
    try {
      return start().join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  /** What owners of paths pass before they call the driver; null if it was not started: they have no reason to. */
  @Nullable
  DriverGate gate() {
    return gate;
  }

  HostPins pins() {
    return PINS.computeIfAbsent(memory(), m -> new HostPins());
  }

  LanePool lanes() {
    return LANES.computeIfAbsent(memory(), m -> new LanePool());
  }

  OpenedMemory opened() {
    return OPENED.computeIfAbsent(memory(), m -> new OpenedMemory());
  }

  boolean opensNothing(int pid) {
    return pid == self;
  }

  int count() {
    return memory().gpus().size();
  }

  Gpu gpu(int ordinal) {
    return memory().gpu(ordinal);
  }

  /** The device for what belongs to none. */
  Gpu first() {
    return gpu(0);
  }

  /**
   * The key of a region on a device.
   *
   * @throws PathSetupException if it has none, or a damaged one
   */
  GpuKey.OfDevice deviceKey(RemoteRegion region) {
    byte[] bytes = region.keys().get(GpuIpcTransport.NAME);
    if (bytes != null && bytes.length > 0 && GpuKey.decode(bytes) instanceof GpuKey.OfDevice key) {
      return key;
    }
    throw new PathSetupException("the peer published no handle for " + region + "; fetch its metadata again");
  }

  /**
   * A device, by what names it in every process.
   *
   * @throws PathSetupException if this process does not see it
   */
  Gpu byUuid(String uuid, RemoteRegion region) {
    return memory().byUuid(uuid).orElseThrow(() -> new PathSetupException(
        "this process does not see the GPU %s that %s lies on; let CUDA_VISIBLE_DEVICES of both processes show it"
            .formatted(uuid, region)));
  }

  /** Runs what takes time, or may block. */
  <T> CompletableFuture<T> inBackground(Supplier<T> task) {
    return CompletableFuture.supplyAsync(task, BACKGROUND);
  }
}
