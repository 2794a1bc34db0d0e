/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BlockPairsTest {
  private record Piece(long local, long remote, long length) {
    boolean isContinuedBy(Piece next) {
      return local + length == next.local && remote + length == next.remote;
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void everyByteGoesWhereThePairsSay(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      BlockList local = randomList(random);
      BlockList remote = likeOf(local, random);
      int[] localIndices = randomIndices(local.count(), random);
      int[] remoteIndices = localIndices == null || random.nextInt(4) > 0 ? localIndices : localIndices.clone();
      BlockPairs pairs = BlockPairs.of(local, localIndices, remote, remoteIndices);
      List<Piece> given = given(local, localIndices, remote, remoteIndices);
      String where = "seed " + seed + " round " + round + ": " + pairs;

      List<Piece> walked = walk(pairs, Long.MAX_VALUE);
      assertThat(joined(walked)).as(where).isEqualTo(joined(given));
      assertThat(pairs.size()).as(where).isEqualTo(walked.size());
      assertThat(walked.size()).as(where).isLessThanOrEqualTo(joined(given).size() + pairs.runCount());
      assertThat(walked).as(where).allMatch(piece -> piece.length() > 0);
      long max = 1L + random.nextInt(100);
      assertThat(joined(walk(pairs, max))).as(where).isEqualTo(joined(given));
      checkSeeks(pairs, given, random, where);
    }
  }

  @Test
  void matchingGridsTakeConstantMemory() {
    long[] shape = {24, 64, 1024};
    BlockList local = BlockList.strided(1L << 40, shape, new long[] {1L << 32, 1L << 25, 1 << 14}, 1 << 12);
    BlockList remote = BlockList.strided(1L << 41, shape, new long[] {1L << 33, 1L << 26, 1 << 15}, 1 << 12);
    BlockPairs pairs = BlockPairs.of(local, remote);

    assertThat(pairs.runCount()).isEqualTo(1);
    assertThat(pairs.size()).isEqualTo(24 * 64 * 1024);
    assertThat(pairs.totalBytes()).isEqualTo((24L * 64 * 1024) << 12).isGreaterThan(1L << 32);
  }

  @Test
  void contiguousBlocksBecomeOnePiece() {
    BlockPairs pairs = BlockPairs.of(BlockList.strided(4096, 64, 64, 1000), BlockList.strided(8192, 64, 64, 1000));

    assertThat(walk(pairs, Long.MAX_VALUE)).containsExactly(new Piece(4096, 8192, 64_000));
    assertThat(pairs.pairAt(63)).isEqualTo(0);
    assertThat(pairs.pairAt(64)).isEqualTo(1);
    assertThat(pairs.pairAt(63_999)).isEqualTo(999);
  }

  @Test
  void positionsGoBeyondFourGibibytes() {
    long length = 3L << 30;
    BlockPairs pairs = BlockPairs.of(
        BlockList.strided(1L << 40, length * 2, length, 4), BlockList.strided(1L << 42, length * 3, length, 4));
    BlockPairs.Cursor cursor = pairs.cursor();
    cursor.seek(3 * length + 5);

    assertThat(pairs.totalBytes()).isEqualTo(12L << 30);
    assertThat(cursor.next(1 << 20)).isTrue();
    assertThat(cursor.localAddress()).isEqualTo((1L << 40) + 3 * length * 2 + 5);
    assertThat(cursor.remoteAddress()).isEqualTo((1L << 42) + 3 * length * 3 + 5);
    assertThat(cursor.remaining()).isEqualTo(length - 5 - (1 << 20));
  }

  @Test
  void emptyPairsVanish() {
    BlockList zeros = BlockList.strided(4096, 8, 0, 10);
    BlockList list = BlockList.concat(zeros, BlockList.of(10, 5), zeros);
    BlockPairs pairs = BlockPairs.of(list, list);

    assertThat(pairs.pairCount()).isEqualTo(21);
    assertThat(pairs.size()).isEqualTo(1);
    assertThat(pairs.pairAt(0)).isEqualTo(10);
    assertThat(BlockPairs.of(zeros, zeros).cursor().next(1)).isFalse();
  }

  @Test
  void packedBlocksFollowEachOther() {
    Random random = new Random(42);
    for (int round = 0; round < 200; round++) {
      BlockList list = randomList(random);
      BlockList contiguous = BlockList.of(1L << 44, list.totalBytes());
      List<Piece> expected = new ArrayList<>();
      long[] at = {contiguous.address(0)};
      list.forEach((index, address, length) -> {
        expected.add(new Piece(address, at[0], length));
        at[0] += length;
      });
      assertThat(joined(walk(BlockPairs.packed(list, 1L << 44), Long.MAX_VALUE)))
          .as("round " + round)
          .isEqualTo(joined(expected));
    }
  }

  @Test
  void aCursorServesOtherPairs() {
    BlockPairs one = BlockPairs.of(BlockList.of(100, 8), BlockList.of(200, 8));
    long[] shape = {2, 2, 2, 2, 2};
    long[] strides = {10_000, 1000, 300, 100, 30};
    BlockList grid = BlockList.strided(1 << 20, shape, strides, 8);
    BlockPairs.Cursor cursor = one.cursor();
    assertThat(cursor.next(100)).isTrue();
    cursor.reset(BlockPairs.of(grid, grid));

    int pieces = 0;
    while (cursor.next(100)) {
      assertThat(cursor.localAddress()).isEqualTo(grid.address(pieces));
      pieces++;
    }
    assertThat(pieces).isEqualTo(32);
  }

  @Test
  void mistakesAreNamed() {
    BlockList ten = BlockList.strided(4096, 64, 64, 10);
    BlockList nine = BlockList.strided(4096, 64, 64, 9);
    BlockList mixed = BlockList.concat(BlockList.strided(4096, 64, 64, 4), BlockList.strided(9000, 65, 65, 6));
    refused(() -> BlockPairs.of(ten, nine), "remote", -1, "9 blocks for 10");
    refused(() -> BlockPairs.of(ten, null, nine, new int[3]), "remoteIndices", -1, "3 blocks for 10");
    refused(() -> BlockPairs.of(ten, mixed), "pair", 4, "64 bytes, its remote one 65");
    refused(() -> BlockPairs.of(ten, BlockList.strided(4096, 64, 65, 10)), "pair", 0, "64 bytes, its remote one 65");
    refused(() -> BlockPairs.of(ten, new int[] {0, 10}, ten, new int[] {0, 1}), "localIndices", 1, "10 is out of");
    refused(() -> BlockPairs.of(ten, new int[] {0, 1}, ten, new int[] {-1, 1}), "remoteIndices", 0, "-1 is out of");
    refused(() -> BlockPairs.of(ten, new int[] {1, 2}, mixed, new int[] {1, 5}), "pair", 1, "64 bytes");
    BlockPairs pairs = BlockPairs.of(ten, ten);
    refused(() -> pairs.cursor().seek(641), "position", -1, "641 is out of bounds");
    refused(() -> pairs.cursor().seek(-1), "position", -1, "-1 is out of bounds");
    refused(() -> pairs.cursor().next(0), "maxBytes", -1, "0 bytes");
    refused(() -> pairs.pairAt(640), "position", -1, "640");
  }

  @Test
  void theCheckSeesASwappedPair() {
    BlockList list = BlockList.strided(4096, 100, 64, 10);
    List<Piece> right = joined(walk(BlockPairs.of(list, new int[] {0, 1, 2}, list, new int[] {3, 4, 5}), 1000));
    List<Piece> swapped = joined(walk(BlockPairs.of(list, new int[] {0, 1, 2}, list, new int[] {3, 5, 4}), 1000));

    assertThat(swapped).isNotEqualTo(right);
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

  private static void checkSeeks(BlockPairs pairs, List<Piece> given, Random random, String where) {
    long total = pairs.totalBytes();
    BlockPairs.Cursor cursor = pairs.cursor();
    for (int i = 0; i < 5 && total > 0; i++) {
      long position = (long) (random.nextDouble() * total);
      cursor.seek(position);
      assertThat(cursor.next(1)).as(where).isTrue();
      long before = 0;
      int index = 0;
      while (before + given.get(index).length() <= position) {
        before += given.get(index).length();
        index++;
      }
      assertThat(cursor.localAddress()).as(where).isEqualTo(given.get(index).local() + position - before);
      assertThat(cursor.remoteAddress()).as(where).isEqualTo(given.get(index).remote() + position - before);
      assertThat(pairs.pairAt(position)).as(where).isEqualTo(index);
    }
    cursor.seek(total);
    assertThat(cursor.next(1)).as(where).isFalse();
  }

  private static List<Piece> walk(BlockPairs pairs, long maxBytes) {
    List<Piece> pieces = new ArrayList<>();
    BlockPairs.Cursor cursor = pairs.cursor();
    while (cursor.next(maxBytes)) {
      pieces.add(new Piece(cursor.localAddress(), cursor.remoteAddress(), cursor.length()));
    }
    return pieces;
  }

  private static List<Piece> given(
      BlockList local, int @Nullable [] localIndices, BlockList remote, int @Nullable [] remoteIndices) {
    List<Piece> pieces = new ArrayList<>();
    int count = localIndices == null ? local.count() : localIndices.length;
    for (int pair = 0; pair < count; pair++) {
      int i = localIndices == null ? pair : localIndices[pair];
      int j = remoteIndices == null ? pair : remoteIndices[pair];
      pieces.add(new Piece(local.address(i), remote.address(j), local.length(i)));
    }
    return pieces;
  }

  /** The same with neighbours joined and empty ones gone: what does not depend on how a plan is cut. */
  private static List<Piece> joined(List<Piece> pieces) {
    List<Piece> joined = new ArrayList<>();
    for (Piece piece : pieces) {
      if (piece.length() == 0) {
        continue;
      }
      if (!joined.isEmpty() && joined.getLast().isContinuedBy(piece)) {
        Piece last = joined.removeLast();
        joined.add(new Piece(last.local(), last.remote(), last.length() + piece.length()));
      } else {
        joined.add(piece);
      }
    }
    return joined;
  }

  private static BlockList randomList(Random random) {
    List<BlockList> parts = new ArrayList<>();
    for (int i = random.nextInt(4); i >= 0; i--) {
      parts.add(
          switch (random.nextInt(3)) {
            case 0 -> BlockListTest.randomGrid(random);
            case 1 -> BlockList.strided(1 << 20, 16, 16, random.nextInt(20));
            default -> BlockList.of(1 << 21, random.nextInt(3) * 16L);
          });
    }
    return BlockList.concat(parts);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void rowsAreThePiecesInTheSameOrder(long seed) {
    Random random = new Random(seed);
    BlockList local =
        BlockList.strided(1L << 40, new long[] {3, 5, 1 + random.nextInt(9)}, new long[] {100_000, -5000, 300}, 200);
    BlockPairs pairs =
        random.nextBoolean()
            ? BlockPairs.packed(local, 1L << 41)
            : BlockPairs.of(
                local, random.ints(0, local.count()).limit(40).toArray(), local, random.ints(0, local.count()).limit(40)
                    .toArray());
    BlockPairs.Cursor rows = pairs.cursor();
    BlockPairs.Cursor single = pairs.cursor();
    while (rows.position() < pairs.totalBytes()) {
      long limit = random.nextInt(3) == 0 ? 1L + random.nextInt(1000) : Long.MAX_VALUE;
      long start = rows.position();
      assertThat(rows.nextRow(limit)).isTrue();
      long moved = rows.pieces() * rows.length();
      assertThat(moved).isLessThanOrEqualTo(limit);
      assertThat(rows.position()).isEqualTo(start + moved);
      for (int piece = 0; piece < rows.pieces(); piece++) {
        assertThat(single.next(rows.length())).isTrue();
        assertThat(single.length()).isEqualTo(rows.length());
        assertThat(single.localAddress()).isEqualTo(rows.localAddress() + piece * rows.localStride());
        assertThat(single.remoteAddress()).isEqualTo(rows.remoteAddress() + piece * rows.remoteStride());
      }
    }
    assertThat(rows.nextRow(1)).isFalse();
    assertThat(rows.pieces()).isZero();
  }

  /** Another list with blocks of the same lengths, sometimes of the same shape. */
  private static BlockList likeOf(BlockList list, Random random) {
    if (random.nextInt(3) == 0) {
      return list;
    }
    BlockList.Builder builder = BlockList.builder();
    long[] at = {1L << 35};
    boolean packed = random.nextBoolean();
    list.forEach((index, address, length) -> {
      builder.add(at[0], length);
      at[0] += packed ? length : 16L * random.nextInt(4);
    });
    return builder.build();
  }

  private static int @Nullable [] randomIndices(int count, Random random) {
    if (count == 0 || random.nextInt(3) == 0) {
      return null;
    }
    int[] indices = new int[random.nextInt(2 * count)];
    int next = random.nextInt(count);
    for (int i = 0; i < indices.length; i++) {
      indices[i] = next;
      next = random.nextInt(3) == 0 ? random.nextInt(count) : (next + 1) % count;
    }
    return indices;
  }
}
