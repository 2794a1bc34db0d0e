/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** A region of an {@link OtherProcess}, together with an image of what it must hold. */
final class FarMemory implements AutoCloseable {
  private final Child child;
  private final RemoteRegion remote;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment image;

  private FarMemory(Child child, RemoteRegion remote) {
    this.child = child;
    this.remote = remote;
    this.image = arena.allocate(remote.length(), Long.BYTES);
  }

  /** A new region. */
  static FarMemory of(Child child, long bytes) {
    String answer = child.tell("region " + bytes, "region ");
    return new FarMemory(child, Card.decode(answer.substring("region ".length())).region());
  }

  RemoteRegion remote() {
    return remote;
  }

  long address() {
    return remote.address();
  }

  MemorySegment image() {
    return image;
  }

  BlockList all() {
    return BlockList.of(remote.address(), remote.length());
  }

  TransferPlan plan(Memory near, BlockList nearBlocks, BlockList farBlocks) {
    return new TransferPlan(
        BlockPairs.of(nearBlocks, farBlocks), new Region[] {near.region()}, new RemoteRegion[] {remote});
  }

  /** Paints all of it, and expects it to stay so. */
  void paint(long seed) {
    Pattern.fill(image, seed);
    child.tell("paint " + remote.id() + " " + seed, "painted");
  }

  /** Expects these bytes at an offset. */
  void expect(long offset, MemorySegment bytes) {
    MemorySegment.copy(bytes, 0, image, offset, bytes.byteSize());
  }

  /** Checks every byte by two sums. */
  void verify(String what) {
    String there = child.tell("sum " + remote.id(), "sum ").substring("sum ".length());
    if (!there.equals(sum(image))) {
      throw new AssertionError(what + ": the target's memory does not hold what it must");
    }
  }

  /** A sum of bytes that sees wherever one is not as it was. */
  static String sum(MemorySegment bytes) {
    CRC32 one = new CRC32();
    CRC32C other = new CRC32C();
    one.update(bytes.asByteBuffer());
    other.update(bytes.asByteBuffer());
    return "%08x%08x".formatted(one.getValue(), other.getValue());
  }

  @Override
  public void close() {
    child.tell("close " + remote.id(), "closed");
    arena.close();
  }
}
