/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BlockListTest {
  private record Block(long address, long length) {}

  @Test
  void aGridIsOneRunWhateverItsSize() {
    long page = 16 << 10;
    BlockList grid = BlockList.strided(
        1L << 40, new long[] {24, 64, 1024}, new long[] {1L << 32, 64 * page, page}, page);

    assertThat(grid.count()).isEqualTo(24 * 64 * 1024);
    assertThat(grid.runCount()).isEqualTo(1);
    assertThat(grid.totalBytes()).isEqualTo(24L * 64 * 1024 * page);
    int index = (5 * 64 + 7) * 1024 + 11;
    assertThat(grid.address(index)).isEqualTo((1L << 40) + 5 * (1L << 32) + 7 * 64 * page + 11 * page);
  }

  @Test
  void axesThatContinueEachOtherBecomeOne() {
    BlockList grid = BlockList.strided(4096, new long[] {4, 1, 8}, new long[] {800, 7, 100}, 10);

    assertThat(grid).isEqualTo(BlockList.strided(4096, 100, 10, 32));
    assertThat(grid.asRuns().axes()).isEqualTo(1);
  }

  @Test
  void anExtentOfZeroIsAnEmptyList() {
    BlockList empty = BlockList.strided(4096, new long[] {3, 0}, new long[] {10, 10}, 8);

    assertThat(empty.count()).isZero();
    assertThat(empty.totalBytes()).isZero();
    assertThat(empty.runs()).isEmpty();
    assertThatThrownBy(() -> empty.address(0)).isInstanceOf(InvalidBlocksException.class);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void anyListReadsBackAsItWasGiven(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      List<Block> given = randomBlocks(random);
      BlockList.Builder builder = BlockList.builder();
      long[] triples = new long[given.size() * 3];
      for (int i = 0; i < given.size(); i++) {
        builder.add(given.get(i).address(), given.get(i).length());
        triples[3 * i] = given.get(i).address();
        triples[3 * i + 1] = given.get(i).length();
        triples[3 * i + 2] = random.nextInt(9);
      }
      BlockList built = builder.build();
      BlockList read = BlockList.fromTriples(triples, DeviceKind.HOST);
      String where = "seed " + seed + " round " + round;

      assertThat(blocksOf(built)).as(where).isEqualTo(given);
      assertThat(byIndex(built)).as(where).isEqualTo(given);
      assertThat(read).as(where).isEqualTo(built).hasSameHashCodeAs(built);
      assertThat(built.totalBytes()).isEqualTo(given.stream().mapToLong(Block::length).sum());
      checkRuns(built, given);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void concatenationIsOneListAfterTheOther(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 100; round++) {
      List<BlockList> lists = new ArrayList<>();
      List<Block> expected = new ArrayList<>();
      for (int i = random.nextInt(5); i >= 0; i--) {
        BlockList list = randomGrid(random);
        lists.add(list);
        expected.addAll(blocksOf(list));
      }
      BlockList joined = BlockList.concat(lists);

      assertThat(blocksOf(joined)).as("seed " + seed + " round " + round).isEqualTo(expected);
      assertThat(byIndex(joined)).as("seed " + seed + " round " + round).isEqualTo(expected);
    }
  }

  @Test
  void triplesOfAGridFoldToOneRun() {
    long[] triples = grid(24, 64, 1024, 16 << 10);
    BlockList list = BlockList.fromTriples(triples, DeviceKind.CUDA);

    assertThat(list.runCount()).isEqualTo(1);
    assertThat(list.device()).isEqualTo(Device.cuda(3));
    assertThat(list.count()).isEqualTo(24 * 64 * 1024);
    assertThat(list.address(1_500_000)).isEqualTo(triples[4_500_000]);
  }

  @Test
  void triplesInNativeMemoryReadTheSame() {
    long[] triples = grid(3, 5, 700, 512);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment segment = arena.allocate(triples.length * 8L, 8);
      MemorySegment.copy(triples, 0, segment, ValueLayout.JAVA_LONG, 0, triples.length);
      assertThat(BlockList.fromTriples(segment, DeviceKind.CUDA))
          .isEqualTo(BlockList.fromTriples(triples, DeviceKind.CUDA));
    }
  }

  @Test
  void theCheckSeesASingleWrongBlock() {
    long[] triples = grid(3, 5, 700, 512);
    BlockList right = BlockList.fromTriples(triples, DeviceKind.CUDA);
    triples[3 * 4321] += 1;

    assertThat(BlockList.fromTriples(triples, DeviceKind.CUDA)).isNotEqualTo(right);
  }

  @Test
  void mistakesAreNamed() {
    refused(() -> BlockList.of(-1, 8), "base", -1, "no address");
    refused(() -> BlockList.of(4096, -8), "length", -1, "-8 bytes is negative");
    refused(() -> BlockList.of(Long.MAX_VALUE - 3, 8), "length", -1, "end of the address space");
    refused(() -> BlockList.strided(4096, -4096, 8, 3), "strides", -1, "leave the address space");
    refused(() -> BlockList.strided(4096, Long.MAX_VALUE / 2, 8, 4), "strides", -1, "leave the address space");
    refused(() -> BlockList.strided(4096, 8, 8, 1L << 31), "count", -1, "2147483648 blocks");
    refused(() -> BlockList.strided(4096, 8, 8, -1), "count", -1, "-1 blocks");
    refused(() -> BlockList.strided(0, new long[] {2, -2}, new long[] {8, 8}, 8), "shape", 1, "negative");
    refused(() -> BlockList.strided(0, new long[] {65536, 65536}, new long[] {0, 0}, 8), "shape", -1, "2^31 blocks");
    refused(() -> BlockList.strided(0, new long[] {2}, new long[] {8, 8}, 8), "strides", -1, "2 strides for 1 extents");
    refused(() -> BlockList.strided(0, 0, Long.MAX_VALUE, 2), "length", 0, "2^63 bytes");
    refused(() -> BlockList.fromTriples(new long[4], DeviceKind.HOST), "triples", -1, "no rows");
    refused(() -> BlockList.fromTriples(new long[] {1, 2, 0, -4, 2, 0}, DeviceKind.HOST), "triples", 1, "no address");
    refused(() -> BlockList.fromTriples(new long[] {1, 2, 0, 4, -2, 0}, DeviceKind.HOST), "triples", 1, "negative");
    refused(() -> BlockList.fromTriples(new long[] {1, 2, 0, 4, 2, 1}, DeviceKind.CUDA), "triples", 1, "device 1");
    refused(() -> BlockList.fromTriples(new long[] {1, 2, -5}, DeviceKind.CUDA), "triples", 0, "-5 is no number");
    refused(() -> BlockList.concat(BlockList.of(1, 1), BlockList.of(1, 1, Device.cuda(0))), "lists", 1, "cuda:0");
    refused(() -> BlockList.of(1, 1).address(1), "index", -1, "1 is out of bounds");
    refused(() -> BlockList.builder().add(1, 1).add(2, -1), "length", 1, "negative");
    refused(() -> BlockList.builder().add(1, 1).addStrided(2, 3, 4, -5), "count", 1, "-5 blocks");
    refused(() -> BlockList.builder().addStrided(8, -8, 4, 3), "strides", -1, "leave the address space");
  }

  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23, 24})
  void rowsAreTheSameAsTheirBlocks(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      BlockList.Builder rows = BlockList.builder();
      BlockList.Builder blocks = BlockList.builder();
      long next = 1L << 30;
      for (int row = random.nextInt(6); row >= 0; row--) {
        long base = random.nextInt(3) == 0 ? next : (1L << 30) + random.nextInt(1000) * 8L;
        long stride = 8L * (random.nextInt(5) - 2);
        int count = random.nextInt(6);
        rows.addStrided(base, stride, 8, count);
        for (int i = 0; i < count; i++) {
          blocks.add(base + i * stride, 8);
        }
        next = base + count * stride;
      }
      BlockList built = rows.build();
      BlockList expected = blocks.build();
      assertThat(built).as("seed " + seed + " round " + round).isEqualTo(expected);
      assertThat(byIndex(built)).isEqualTo(byIndex(expected));
    }
  }

  @Test
  void aBuilderBuildsOnce() {
    BlockList.Builder builder = BlockList.builder().add(1, 2);
    assertThat(builder.build().count()).isEqualTo(1);
    assertThatThrownBy(builder::build).isInstanceOf(IllegalStateException.class);
  }

  private static void refused(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String argument, long index, String words) {
    assertThatThrownBy(call)
        .asInstanceOf(type(InvalidBlocksException.class))
        .satisfies(e -> {
          assertThat(e.argument()).isEqualTo(argument);
          assertThat(e.index()).isEqualTo(index);
          assertThat(e).hasMessageContaining(words);
        });
  }

  private static void checkRuns(BlockList list, List<Block> blocks) {
    int next = 0;
    for (BlockList.Run run : list.runs()) {
      assertThat(run.firstIndex()).isEqualTo(next);
      List<Block> part = blocks.subList(next, next + run.count());
      assertThat(run.address()).isEqualTo(part.stream().mapToLong(Block::address).min().orElseThrow());
      assertThat(run.address() + run.extent())
          .isEqualTo(part.stream().mapToLong(b -> b.address() + b.length()).max().orElseThrow());
      assertThat(part).allMatch(b -> b.length() == run.blockBytes());
      next += run.count();
    }
    assertThat(next).isEqualTo(blocks.size());
  }

  static long[] grid(int layers, int heads, int pages, long page) {
    long[] triples = new long[layers * heads * pages * 3];
    int at = 0;
    for (long layer = 0; layer < layers; layer++) {
      for (long head = 0; head < heads; head++) {
        for (long index = 0; index < pages; index++) {
          triples[at] = (1L << 40) + layer * (1L << 34) + head * page + index * page * heads * 2;
          triples[at + 1] = page;
          triples[at + 2] = 3;
          at += 3;
        }
      }
    }
    return triples;
  }

  /** Stretches of regular blocks, repeated, shuffled or not, among single ones. */
  private static List<Block> randomBlocks(Random random) {
    List<Block> blocks = new ArrayList<>();
    for (int stretch = random.nextInt(12); stretch > 0; stretch--) {
      long base = (1L << 30) + random.nextInt(1 << 20);
      long stride = random.nextInt(5) == 0 ? 0L : random.nextInt(4000) - 2000L;
      long length = random.nextInt(4) == 0 ? random.nextInt(3) : 64L;
      long outer = random.nextInt(10_000);
      int rows = 1 + random.nextInt(4);
      int count = 1 + random.nextInt(6);
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < count; i++) {
          blocks.add(new Block(base + row * outer + i * stride, length));
        }
      }
    }
    return blocks;
  }

  static BlockList randomGrid(Random random) {
    int axes = random.nextInt(4);
    long[] shape = new long[axes];
    long[] strides = new long[axes];
    for (int axis = 0; axis < axes; axis++) {
      shape[axis] = 1L + random.nextInt(4);
      strides[axis] = random.nextInt(3) == 0 ? 16L : random.nextInt(2000) - 1000L;
    }
    return BlockList.strided(1L << 30, shape, strides, 16);
  }

  private static List<Block> blocksOf(BlockList list) {
    List<Block> blocks = new ArrayList<>();
    list.forEach((index, address, length) -> {
      assertThat(index).isEqualTo(blocks.size());
      blocks.add(new Block(address, length));
    });
    return blocks;
  }

  private static List<Block> byIndex(BlockList list) {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < list.count(); i++) {
      blocks.add(new Block(list.address(i), list.length(i)));
    }
    return blocks;
  }

  @Test
  void movesEachRunByItsOwnDistance() {
    Device here = new Device(DeviceKind.CUDA, 0);
    Device there = new Device(DeviceKind.CUDA, 3);
    BlockList list = BlockList.concat(
        BlockList.strided(10_000, -100, 50, 3, here), // from 9_800 to 10_050
        BlockList.of(77, 0, here),
        BlockList.strided(20_000, new long[] {2, 2}, new long[] {1_000, 100}, 10, here));
    List<String> asked = new ArrayList<>();
    BlockList moved = list.moved(there, (index, address, length) -> {
      asked.add(index + ": " + address + "+" + length);
      return address < 15_000 ? 5 : 1L << 40;
    });
    assertThat(asked).containsExactly("0: 9800+250", "4: 20000+1110");
    assertThat(moved).isEqualTo(BlockList.concat(
        BlockList.strided(10_005, -100, 50, 3, there),
        BlockList.of(77, 0, there),
        BlockList.strided((1L << 40) + 20_000, new long[] {2, 2}, new long[] {1_000, 100}, 10, there)));
    assertThat(list.address(0)).as("the list itself stays").isEqualTo(10_000);
  }
}
