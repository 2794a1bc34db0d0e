/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.gpu.GpuTimeline;
import java.util.HashMap;
import java.util.Map;

/** The timelines of the user's streams that transfers are ordered with: one for each stream, kept until the agent closes. */
final class StreamTimelines implements AutoCloseable {
  private record Name(Device device, long stream) {}

  private final MemoryRegistry registry;
  private final Map<Name, GpuTimeline> timelines = new HashMap<>(); // guarded by this

  StreamTimelines(MemoryRegistry registry) {
    this.registry = registry;
  }

  /**
   * The timeline of a stream.
   *
   * @throws DeviceAbsentException if there is no such device
   */
  synchronized GpuTimeline of(Device device, long stream) {
    return timelines.computeIfAbsent(new Name(device, stream), this::make);
  }

  private GpuTimeline make(Name name) {
    DeviceMemory memory = registry.deviceMemory(name.device().kind());
    if (!(memory instanceof GpuMemory gpus)) {
      throw new DeviceAbsentException(
          name.device().kind(), "the registry was given " + memory + ", which has no streams");
    }
    return new GpuTimeline(gpus.gpu(name.device()).stream(name.stream()));
  }

  @Override
  public synchronized void close() {
    timelines.values().forEach(GpuTimeline::close);
    timelines.clear();
  }
}
