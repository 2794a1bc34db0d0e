/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.agent.Agent;
import dev.hawser.memory.Access;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory of one kind. What is filled and checked is {@link #segment}: the memory itself, or for that of a device a
 * copy on the host, which {@link #store} and {@link #load} bring there and back.
 */
final class BenchMemory implements AutoCloseable {
  private static final long PAGE = 4096;

  private final Region region;
  private final MemorySegment segment;
  private final @Nullable Arena arena;
  private final @Nullable DeviceOps device;

  private BenchMemory(
      Region region, MemorySegment segment, @Nullable Arena arena, @Nullable DeviceOps device) {
    this.region = region;
    this.segment = segment;
    this.arena = arena;
    this.device = device;
  }

  static BenchMemory open(Agent agent, String name, long bytes, MemoryKind kind) {
    if (!kind.device().isHost()) {
      return openDevice(agent, name, bytes, kind);
    }
    if (kind.equals(MemoryKind.MALLOC)) {
      return openMalloc(agent, name, bytes);
    }
    Region region = agent.allocate(name, bytes);
    return new BenchMemory(region, region.segment().asSlice(0, bytes), null, null);
  }

  @SuppressWarnings("MustBeClosedChecker") // closed with this, or here if it does not come to that
  private static BenchMemory openMalloc(Agent agent, String name, long bytes) {
    Arena arena = Arena.ofShared();
    boolean registered = false;
    try {
      MemorySegment segment = arena.allocate(bytes, PAGE);
      Region region = agent.register(name, segment, Access.REMOTE_READ_WRITE);
      registered = true;
      return new BenchMemory(region, segment, arena, null);
    } finally {
      if (!registered) {
        arena.close();
      }
    }
  }

  @SuppressWarnings("MustBeClosedChecker") // closed with this, or here if it does not come to that
  private static BenchMemory openDevice(Agent agent, String name, long bytes, MemoryKind kind) {
    Arena arena = Arena.ofShared();
    DeviceOps ops = null;
    boolean allocated = false;
    try {
      ops = agent.registry().newDeviceOps(kind.device());
      Region region = agent.allocate(name, bytes, kind.device(), Access.REMOTE_READ_WRITE);
      allocated = true;
      return new BenchMemory(region, arena.allocate(bytes, PAGE), arena, ops);
    } finally {
      if (!allocated) {
        arena.close();
        if (ops != null) {
          ops.close();
        }
      }
    }
  }

  Region region() {
    return region;
  }

  /** Where the bytes lie: on the device, if they are there. */
  long address() {
    return region.address();
  }

  MemorySegment segment() {
    return segment;
  }

  /** What was filled goes to where it belongs. */
  synchronized void store(long bytes) {
    if (device != null) {
      device.copy(segment.address(), region.address(), bytes);
      device.finish();
    }
  }

  /** What lies there can be checked. */
  synchronized void load(long bytes) {
    if (device != null) {
      device.copy(region.address(), segment.address(), bytes);
      device.finish();
    }
  }

  @Override
  public void close() {
    region.close();
    if (device != null) {
      device.close();
    }
    if (arena != null) {
      arena.close();
    }
  }
}
