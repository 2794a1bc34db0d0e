/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read from the tables is what was added, wherever it lies: addresses that no test could allocate included. */
class CopyBatchTest {
  private record Piece(long local, long remote, long bytes) {}

  private final List<Piece> added = new ArrayList<>();
  private final List<Piece> read = new ArrayList<>();
  private final List<Boolean> indexed = new ArrayList<>();
  private final MemorySegment room = Arena.ofAuto().allocate(CopyBatch.TABLE_BYTES, 16);
  private final CopyBatch batch = new CopyBatch(new Reader());

  private final class Reader implements CopyBatch.Target {
    @Override
    public long room() {
      return room.address();
    }

    @Override
    public void launch(CopyLaunch launch) {
      assertThat(launch.tableBytes).isLessThanOrEqualTo(CopyBatch.TABLE_BYTES);
      indexed.add(launch.indexed);
      long items = 0;
      if (launch.indexed) {
        for (long at = 0; at < launch.tableBytes; at += 8) {
          long local = launch.localBase + ((long) room.get(JAVA_INT, at) << launch.unitBits);
          long remote = launch.remoteBase + ((long) room.get(JAVA_INT, at + 4) << launch.unitBits);
          read.add(new Piece(local, remote, launch.pieceBytes));
          items += launch.itemsPerPiece;
        }
      } else {
        for (int run = 0; run < launch.runs; run++) {
          long at = 48L * run;
          long end = run + 1 < launch.runs ? room.get(JAVA_LONG, at + 88) : launch.items;
          long bytes = room.get(JAVA_LONG, at + 32);
          assertThat(room.get(JAVA_LONG, at + 40)).isEqualTo(items);
          long perPiece = (bytes + launch.itemBytes - 1) / launch.itemBytes;
          for (long i = 0; i < (end - items) / perPiece; i++) {
            read.add(
                new Piece(
                    room.get(JAVA_LONG, at) + i * room.get(JAVA_LONG, at + 16),
                    room.get(JAVA_LONG, at + 8) + i * room.get(JAVA_LONG, at + 24),
                    bytes));
          }
          items = end;
        }
      }
      assertThat(items).isEqualTo(launch.items);
    }

    @Override
    public void copy(long local, long remote, long bytes) {
      read.add(new Piece(local, remote, bytes));
    }
  }

  private void add(long local, long remote, long bytes) {
    added.add(new Piece(local, remote, bytes));
    batch.add(local, remote, bytes);
  }

  private void assertAllRead() {
    batch.submit();
    assertThat(read).containsExactlyInAnyOrderElementsOf(added);
    added.clear();
    read.clear();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 12})
  void piecesOfOneLengthAreIndexed(int alignment) {
    Random random = new Random(alignment);
    for (int i = 0; i < 140_000; i++) {
      add(
          (1L << 46) + ((long) random.nextInt(1 << 18) << alignment),
          (1L << 45) + ((long) random.nextInt(1 << 18) << alignment),
          4096);
    }
    assertAllRead();
    assertThat(indexed).containsExactly(true, true);
  }

  @Test
  void theUnitShrinksWhenAPieceIsLessAlignedThanAllBefore() {
    for (int i = 0; i < 500; i++) {
      add((1L << 40) + i * 4096L, (1L << 41) - i * 8192L, 100);
    }
    add((1L << 40) + 4, 1L << 41, 100);
    add((1L << 40) - 1, 1L << 41, 100);
    add(1L << 40, (1L << 41) + 64, 100);
    assertAllRead();
    assertThat(indexed).containsExactly(true);
  }

  @Test
  void whatNoIndexReachesBecomesRunsOrAnotherTable() {
    add(1L << 40, 1L << 41, 64);
    add((1L << 40) + (1L << 35), 1L << 41, 64);
    add((1L << 40) - (1L << 35) + 16, 1L << 41, 64);
    assertAllRead();
    for (int i = 0; i < 2000; i++) {
      add((1L << 40) + i * 64L, 1L << 41, 64);
    }
    add(1L << 44, 1L << 41, 64);
    add((1L << 44) + 64, 1L << 41, 64);
    assertAllRead();
    assertThat(indexed).containsExactly(false, true, true);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void anythingElseBecomesRuns(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 60_000; i++) {
      long local = random.nextLong(1L << 46);
      long remote = random.nextLong(1L << 46);
      if (random.nextInt(100) == 0) {
        int pieces = 2 + random.nextInt(200);
        long bytes = 1L + random.nextInt(10_000);
        for (int k = 0; k < pieces; k++) {
          added.add(new Piece(local + k * 20_000L, remote - k * 10_000L, bytes));
        }
        batch.addRow(local, remote, 20_000, -10_000, bytes, pieces);
      } else {
        add(local, remote, random.nextBoolean() ? 512 : 1 + random.nextInt(20_000));
      }
    }
    assertAllRead();
  }

  @Test
  void joinedNeighboursAreTakenApartAgain() {
    for (int multiple : new int[] {3, 1, 2, 1, 1, 5, 64, 1}) {
      long local = (1L << 40) + multiple * 1_000_000L;
      long remote = (1L << 41) + multiple * 2_000_000L;
      for (int i = 0; i < multiple; i++) {
        added.add(new Piece(local + i * 516L, remote + i * 516L, 516));
      }
      batch.add(local, remote, multiple * 516L);
    }
    assertAllRead();
    assertThat(indexed).containsExactly(true);
  }

  @Test
  void largePiecesOfManyLengthsHaveLargeItems() {
    Random random = new Random(6);
    for (int i = 0; i < 300; i++) {
      add(random.nextLong(1L << 46), random.nextLong(1L << 46), 60_000L + random.nextInt(1 << 20));
    }
    assertAllRead();
    assertThat(indexed).containsExactly(false);
  }

  @Test
  void onePieceNeedsNoTable() {
    add(4096, 8192, 10);
    assertAllRead();
    assertThat(indexed).isEmpty();
    batch.submit();
    assertThat(read).isEmpty();
  }
}
