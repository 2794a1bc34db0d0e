/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.Gpu;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The lanes that no path uses now. They are never closed: giving streams and memory back to a driver waits until its device
 * is idle, and holds up every other call meanwhile. Thread-safe.
 */
final class LanePool {
  private final Map<Gpu, Deque<GpuLane>> idle = new HashMap<>(); // guarded by this

  /** One that is at hand; null if it has to be made. */
  synchronized @Nullable GpuLane poll(Gpu gpu) {
    Deque<GpuLane> lanes = idle.get(gpu);
    return lanes == null ? null : lanes.poll();
  }

  /** Makes one, which takes time. */
  GpuLane make(Gpu gpu) {
    gpu.growTables();
    return new GpuLane(gpu, GpuMover.DEPTH);
  }

  /** Nothing of it is under way. */
  synchronized void give(GpuLane lane) {
    idle.computeIfAbsent(lane.gpu(), gpu -> new ArrayDeque<>()).push(lane);
  }
}
