/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RemoteKey;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;

/**
 * A registered region together with an image of what it must hold, byte by byte: what was written where it belongs, and
 * the paint everywhere else.
 */
final class Memory implements AutoCloseable {
  private static final long CONTEXT = 16;

  private final MemoryRegistry registry;
  private final Arena arena = Arena.ofShared();
  private final Region region;
  private final MemorySegment bytes;
  private final MemorySegment image;

  Memory(Fixture fixture, MemoryRegistry registry, long length, Access access) {
    this.registry = registry;
    this.region = fixture.register(registry, arena, length, access);
    this.bytes = fixture.bytes(region);
    this.image = arena.allocate(length, Long.BYTES);
    MemorySegment.copy(bytes, 0, image, 0, length);
  }

  Region region() {
    return region;
  }

  long address() {
    return region.address();
  }

  long length() {
    return region.length();
  }

  /** The memory itself. */
  MemorySegment bytes() {
    return bytes;
  }

  /** What it must hold. */
  MemorySegment image() {
    return image;
  }

  /** All of it as one block. */
  BlockList all() {
    return block(0, length());
  }

  BlockList block(long offset, long length) {
    return BlockList.of(address() + offset, length);
  }

  /** What a peer knows of it. */
  RemoteRegion remote() {
    return remote(region);
  }

  static RemoteRegion remote(Region region) {
    Map<String, byte[]> keys = new TreeMap<>();
    for (RemoteKey key : region.remoteKeys()) {
      keys.put(key.transport(), key.bytes());
    }
    return new RemoteRegion(region.id(), region.address(), region.length(), region.device(), region.access(), keys);
  }

  /** A second region over a part of it; the caller closes it first. */
  Region part(long offset, long length, Access access) {
    return registry.register(address() + offset, length, region.device(), access);
  }

  boolean contains(long address, long length) {
    return region.contains(address, length);
  }

  /** Paints all of it, and expects it to stay so. */
  void paint(long seed) {
    Pattern.fill(image, seed);
    MemorySegment.copy(image, 0, bytes, 0, bytes.byteSize());
  }

  /** Expects these bytes at an address. */
  void expect(long address, MemorySegment from) {
    MemorySegment.copy(from, 0, image, address - address(), from.byteSize());
  }

  /** The offset of the first byte that is not as expected; −1 if there is none. */
  long mismatch() {
    return bytes.mismatch(image);
  }

  /** Checks every byte. */
  void verify(String what) {
    long at = mismatch();
    if (at >= 0) {
      throw new AssertionError(
          "%s: byte %d of %d is wrong (%d wrong in all); from there expected %s, found %s"
              .formatted(what, at, length(), wrong(at), hex(image, at), hex(bytes, at)));
    }
  }

  /** Checks every byte but those from an address on, which may hold anything. */
  void verifyExcept(long address, long length, String what) {
    long from = address - address();
    MemorySegment.copy(bytes, from, image, from, length);
    verify(what);
  }

  /** Checks for a while that nothing changes any more. */
  void watch(String what, Duration time) {
    Waits.during(time, () -> verify(what));
  }

  private long wrong(long from) {
    long count = 0;
    for (long at = from; at < length(); at++) {
      if (bytes.get(ValueLayout.JAVA_BYTE, at) != image.get(ValueLayout.JAVA_BYTE, at)) {
        count++;
      }
    }
    return count;
  }

  private static String hex(MemorySegment memory, long at) {
    long end = Math.min(memory.byteSize(), at + CONTEXT);
    return HexFormat.of().formatHex(memory.asSlice(at, end - at).toArray(ValueLayout.JAVA_BYTE));
  }

  /** Waits until no transfer uses it. */
  void awaitUnused() {
    awaitUnused(region);
  }

  static void awaitUnused(Region region) {
    Waits.until(Waits.PATIENCE, () -> region + " has no uses left, it has " + region.uses(), () -> region.uses() == 0);
  }

  /**
   * Once its transfers have ended nothing uses it any more; what peers were lent may be held until they are asked for it,
   * which closing does.
   */
  @Override
  public void close() {
    if (!region.isClosed()) {
      if (region.access().equals(Access.LOCAL)) {
        awaitUnused();
      }
      assertThat(region.close(Waits.PATIENCE).failures()).as("who did not let go of %s", region).isEmpty();
    }
    arena.close();
  }
}
