/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PagedPoolTest {
  private static final int BLOCKS = 20;

  // Shared, because tests run on a thread of their own.
  private final Arena arena = Arena.ofShared();
  private final KvShape shape = KvShape.llama(2);
  private final PagedPool pool = pool(7);

  private PagedPool pool(long seed) {
    PoolLayout layout = new PoolLayout(shape, BLOCKS);
    return new PagedPool("test", layout, arena.allocate(layout.bytes(), 4096), seed);
  }

  @AfterEach
  void close() {
    arena.close();
  }

  @Test
  void handsOutEachBlockOnceAndInNoOrder() {
    BlockTable all = pool.allocate("r", BLOCKS * 16);

    assertThat(all.ids()).containsExactlyInAnyOrder(IntStream.range(0, BLOCKS).toArray()).isNotEqualTo(sorted(all));
    assertThat(pool(7).allocate("r", BLOCKS * 16).ids()).isEqualTo(all.ids());
    assertThat(pool(8).allocate("r", BLOCKS * 16).ids()).isNotEqualTo(all.ids());
  }

  private static int[] sorted(BlockTable table) {
    int[] ids = table.ids();
    Arrays.sort(ids);
    return ids;
  }

  @Test
  void refusesWhatItHasNot() {
    BlockTable most = pool.allocate("r", 18 * 16);
    assertThatThrownBy(() -> pool.allocate("q", 33)).isInstanceOf(DemonstrationException.class)
        .hasMessageContaining("pool 'test' has 2 of its 20 blocks free, and request q needs 3");

    pool.free(most);
    assertThat(pool.allocate("q", BLOCKS * 16).size()).isEqualTo(BLOCKS);
  }

  @Test
  void isSoundWhenEveryLayerIsComputedAndNotBefore() {
    assertThat(PoolAudit.of(pool)).isEqualTo(new PoolAudit(0, 4 * BLOCKS, 0, null));

    BlockTable table = pool.allocate("r", 100);
    assertThat(PoolAudit.of(pool).damaged()).isEqualTo(4 * 7);
    pool.compute(table, 1);
    assertThat(PoolAudit.of(pool)).satisfies(audit -> {
      assertThat(audit.damaged()).isEqualTo(2 * 7);
      assertThat(audit.firstDamage()).startsWith("layer 0, K block ")
          .endsWith("of the 7 of request r) does not hold what was computed, from byte 0 on");
    });
    pool.compute(table, 0);
    assertThat(PoolAudit.of(pool)).isEqualTo(new PoolAudit(4 * 7, 4 * (BLOCKS - 7), 0, null));

    pool.free(table);
    assertThat(PoolAudit.of(pool)).isEqualTo(new PoolAudit(0, 4 * BLOCKS, 0, null));
  }

  @Test
  void namesABlockThatNothingMayWriteTo() {
    BlockTable table = pool.allocate("r", 16);
    pool.compute(table, 0);
    pool.compute(table, 1);
    int id = pool.anyFreeBlock();
    MemorySegment block = pool.block(1, Part.V, id);
    long last = block.byteSize() - 1;
    block.set(ValueLayout.JAVA_BYTE, last, (byte) ~block.get(ValueLayout.JAVA_BYTE, last));

    assertThat(PoolAudit.of(pool)).isEqualTo(new PoolAudit(4, 4 * (BLOCKS - 1), 1, "layer 1, V block " + id
        + ", which belongs to no request, was written, from byte " + (last - 7) + " on"));
  }

  @Test
  void seesTwoBlocksThatWereSwapped() {
    BlockTable table = pool.allocate("r", 32);
    pool.compute(table, 0);
    pool.compute(table, 1);
    swap(pool.block(1, Part.K, table.id(0)), pool.block(1, Part.K, table.id(1)));

    assertThat(PoolAudit.of(pool)).satisfies(audit -> {
      assertThat(audit.damaged()).isEqualTo(2);
      assertThat(audit.firstDamage())
          .startsWith("layer 1, K block " + Math.min(table.id(0), table.id(1)) + " (block ");
    });
  }

  private static void swap(MemorySegment a, MemorySegment b) {
    byte[] old = a.toArray(ValueLayout.JAVA_BYTE);
    a.copyFrom(b);
    b.copyFrom(MemorySegment.ofArray(old));
  }

  @Test
  void listsARequestsBlocksWhereTheyLie() {
    BlockTable table = pool.allocate("r", 48);

    assertThat(pool.blocksOf(table).count()).isEqualTo(3 * 4);
    assertThat(pool.blocksOf(table).address(4)).isEqualTo(pool.block(0, Part.K, table.id(1)).address());
    assertThat(pool.everyBlock().address(pool.layout().index(1, Part.V, table.id(2))))
        .isEqualTo(pool.block(1, Part.V, table.id(2)).address());
  }
}
