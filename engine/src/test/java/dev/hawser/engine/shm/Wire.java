/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Map;

/** Frames over a socket, for two test processes that set a path up. */
final class Wire {
  private static final int PATIENCE_MILLIS = 30_000;

  private Wire() {}

  static void send(int fd, byte[] frame) {
    byte[] bytes = ByteBuffer.allocate(4 + frame.length).putInt(frame.length).put(frame).array();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment segment = arena.allocate(bytes.length);
      MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
      if (Sockets.send(fd, segment.address(), bytes.length) != bytes.length) {
        throw new AssertionError("a frame of " + bytes.length + " bytes was not sent in one go");
      }
    }
  }

  static byte[] receive(int fd) {
    return exactly(fd, ByteBuffer.wrap(exactly(fd, 4)).getInt());
  }

  private static byte[] exactly(int fd, int count) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment segment = arena.allocate(count);
      int have = 0;
      while (have < count) {
        if (Sockets.poll(fd, Sockets.POLLIN, PATIENCE_MILLIS) == 0) {
          throw new AssertionError("the other process says nothing");
        }
        long n = Sockets.receive(fd, segment.address() + have, count - have);
        if (n <= 0) {
          throw new AssertionError("the other process hung up: " + n);
        }
        have += (int) n;
      }
      return segment.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  static byte[] encode(Region region) {
    return ByteBuffer.allocate(24)
        .putInt(region.id())
        .putLong(region.address())
        .putLong(region.length())
        .putInt(region.access().mask())
        .array();
  }

  static RemoteRegion decode(byte[] bytes) {
    ByteBuffer from = ByteBuffer.wrap(bytes);
    return new RemoteRegion(
        from.getInt(), from.getLong(), from.getLong(), Device.HOST, new Access(from.getInt()), Map.of());
  }
}
