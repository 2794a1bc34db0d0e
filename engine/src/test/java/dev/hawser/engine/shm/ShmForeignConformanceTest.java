/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.ForeignMemory;
import dev.hawser.engine.testkit.conformance.TransportConformance;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;

/** Memory that was registered by its address, and cannot be mapped: copied by the kernel. */
final class ShmForeignConformanceTest extends TransportConformance {
  ShmForeignConformanceTest() {
    super(new Foreign());
  }

  /** Of this process and the second one. */
  static final class Foreign implements Fixture {
    @Override
    public String transport() {
      return ShmTransport.NAME;
    }

    @Override
    public boolean mapped() {
      return true;
    }

    @Override
    public Region register(MemoryRegistry registry, Arena arena, long bytes, Access access) {
      return ForeignMemory.register(registry, arena, bytes, access);
    }

    @Override
    public Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) throws IOException {
      return ForeignMemory.reserve(registry, arena, bytes, access);
    }
  }
}
