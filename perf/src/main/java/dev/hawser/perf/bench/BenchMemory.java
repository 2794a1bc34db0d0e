/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.agent.Agent;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Registered memory of one kind. */
final class BenchMemory implements AutoCloseable {
  private static final long PAGE = 4096;

  private final Region region;
  private final MemorySegment segment;
  private final @Nullable Arena arena;

  private BenchMemory(Region region, MemorySegment segment, @Nullable Arena arena) {
    this.region = region;
    this.segment = segment;
    this.arena = arena;
  }

  static BenchMemory open(Agent agent, String name, long bytes, MemoryKind kind) {
    return switch (kind) {
      case HOST -> {
        Region region = agent.allocate(name, bytes);
        yield new BenchMemory(region, region.segment().asSlice(0, bytes), null);
      }
      case MALLOC -> openMalloc(agent, name, bytes);
    };
  }

  @SuppressWarnings("MustBeClosedChecker") // closed with this, or here if it does not come to that
  private static BenchMemory openMalloc(Agent agent, String name, long bytes) {
    Arena arena = Arena.ofShared();
    boolean registered = false;
    try {
      MemorySegment segment = arena.allocate(bytes, PAGE);
      Region region = agent.register(name, segment, Access.REMOTE_READ_WRITE);
      registered = true;
      return new BenchMemory(region, segment, arena);
    } finally {
      if (!registered) {
        arena.close();
      }
    }
  }

  Region region() {
    return region;
  }

  MemorySegment segment() {
    return segment;
  }

  @Override
  public void close() {
    region.close();
    if (arena != null) {
      arena.close();
    }
  }
}
