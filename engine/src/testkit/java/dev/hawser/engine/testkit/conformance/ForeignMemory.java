/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Memory that the registry did not allocate, registered by address: for fixtures. */
public final class ForeignMemory {
  private static final long ALIGNMENT = 64;

  private ForeignMemory() {}

  /** As {@link Fixture#register}. */
  public static Region register(MemoryRegistry registry, Arena arena, long bytes, Access access) {
    return byAddress(registry, arena.allocate(bytes, ALIGNMENT), access);
  }

  /** As {@link Fixture#reserve}: a file full of holes, mapped. */
  public static Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) throws IOException {
    Path file = Files.createTempFile("hawser-sparse", null);
    Files.delete(file);
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.SPARSE,
            StandardOpenOption.DELETE_ON_CLOSE)) {
      channel.write(ByteBuffer.allocate(1), bytes - 1);
      return byAddress(registry, channel.map(MapMode.READ_WRITE, 0, bytes, arena), access);
    }
  }

  private static Region byAddress(MemoryRegistry registry, MemorySegment memory, Access access) {
    return registry.register(memory.address(), memory.byteSize(), Device.HOST, access);
  }
}
