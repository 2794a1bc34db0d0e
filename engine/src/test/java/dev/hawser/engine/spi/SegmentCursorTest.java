/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A segment never leaves a region, on either side. */
class SegmentCursorTest {
  private static final long THERE = 0x10_0000;

  private final Arena arena = Arena.ofShared();
  private final MemoryRegistry registry = MemoryRegistry.create();
  private final SegmentCursor cursor = new SegmentCursor();

  @AfterEach
  void close() {
    registry.close();
    arena.close();
  }

  private static RemoteRegion remote(int id, long address, long length) {
    return new RemoteRegion(id, address, length, Device.HOST, Access.REMOTE_READ_WRITE, Map.of());
  }

  private Region local(MemorySegment memory, long offset, long length) {
    return registry.register(memory.asSlice(offset, length), Access.LOCAL);
  }

  @Test
  void joinedBlocksAreCutWhereRegionsTouch() {
    MemorySegment memory = arena.allocate(300);
    Region[] here = {local(memory, 0, 100), local(memory, 100, 200)};
    RemoteRegion[] there = {remote(1, THERE, 150), remote(2, THERE + 150, 150)};
    BlockPairs pairs =
        BlockPairs.of(
            BlockList.strided(memory.address() + 10, 40, 40, 7), BlockList.strided(THERE + 10, 40, 40, 7));
    assertThat(pairs.size()).as("the blocks are joined").isEqualTo(1);
    TransferPlan plan = new TransferPlan(pairs, here, there);
    cursor.start(plan, 0, 280);
    assertSegment(memory.address(), memory.address() + 10, 90, here[0], there[0]);
    assertSegment(memory.address(), memory.address() + 100, 50, here[1], there[0]);
    assertSegment(memory.address(), memory.address() + 150, 140, here[1], there[1]);
    assertThat(cursor.next()).isFalse();

    cursor.start(plan, 89, 2);
    assertSegment(memory.address(), memory.address() + 99, 1, here[0], there[0]);
    assertSegment(memory.address(), memory.address() + 100, 1, here[1], there[0]);
    assertThat(cursor.next()).isFalse();
  }

  private void assertSegment(long base, long address, long length, Region here, RemoteRegion there) {
    assertThat(cursor.next()).isTrue();
    assertThat(cursor.localAddress()).isEqualTo(address);
    assertThat(cursor.remoteAddress()).isEqualTo(address - base + THERE);
    assertThat(cursor.length()).isEqualTo(length);
    assertThat(cursor.localRegion()).isSameAs(here);
    assertThat(cursor.remoteRegion()).isSameAs(there);
  }

  @Test
  void aRegionThatHoldsAllOfAPieceIsPreferred() {
    MemorySegment memory = arena.allocate(100);
    Region[] here = {local(memory, 0, 10), local(memory, 0, 100)};
    RemoteRegion[] there = {remote(1, THERE, 20), remote(2, THERE, 100)};
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(BlockList.of(memory.address(), 100), BlockList.of(THERE, 100)), here, there);
    cursor.start(plan, 0, 100);
    assertThat(cursor.next()).isTrue();
    assertThat(cursor.length()).isEqualTo(100);
    assertThat(cursor.remoteRegion()).isSameAs(there[1]);
    assertThat(cursor.next()).isFalse();
  }

  @Test
  void whatNoRegionHoldsIsAMistakeOfTheCaller() {
    MemorySegment memory = arena.allocate(100);
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(BlockList.of(memory.address(), 100), BlockList.of(THERE, 100)),
            new Region[] {local(memory, 0, 100)},
            new RemoteRegion[] {remote(1, THERE, 60)});
    cursor.start(plan, 0, 100);
    assertThat(cursor.next()).isTrue();
    assertThat(cursor.length()).isEqualTo(60);
    assertThatThrownBy(cursor::next).isInstanceOf(IllegalStateException.class).hasMessageContaining("remote region");
  }
}
