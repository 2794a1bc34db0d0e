/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryException;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every byte arrives at its place, and nothing else is written. */
interface DataCases extends Cases {
  /** Before and behind every destination. */
  int GUARD = 4096;

  int KIB = 1024;
  int MIB = 1024 * KIB;

  @Test
  default void writesEverySize() {
    movesEverySize(Op.WRITE);
  }

  @Test
  default void readsEverySize() {
    movesEverySize(Op.READ);
  }

  private void movesEverySize(Op op) {
    int[] small = {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 511, 4095, 4096, 4097, 65_535, 65_536, 65_537};
    int[][] offsets = {{0, 0}, {1, 0}, {0, 1}, {3, 5}, {63, 64}};
    try (Memory local = pair().local(128 * KIB);
        Memory remote = pair().remote(128 * KIB)) {
      for (int size : small) {
        for (int[] offset : offsets) {
          move(op, local, GUARD + offset[0], remote, GUARD + offset[1], size);
        }
      }
    }
    try (Memory local = pair().local(16 * MIB + 2 * GUARD);
        Memory remote = pair().remote(16 * MIB + 2 * GUARD)) {
      move(op, local, GUARD, remote, GUARD, MIB);
      move(op, local, GUARD + 7, remote, GUARD + 1, MIB + 13);
      move(op, local, GUARD, remote, GUARD, 16 * MIB);
      move(op, local, GUARD - 1, remote, GUARD + 9, 16 * MIB - 5);
    }
  }

  private void move(Op op, Memory local, long localOffset, Memory remote, long remoteOffset, long bytes) {
    run(op, Copies.of(local, localOffset, remote, remoteOffset, bytes), local, remote,
        "%s of %d bytes from offset %d to %d".formatted(op, bytes, localOffset, remoteOffset));
  }

  /** Paints, moves with flush, and checks every byte of both sides. */
  private void run(Op op, Copies copies, Memory local, Memory remote, String what) {
    run(op, copies, List.of(local), List.of(remote), what);
  }

  private void run(Op op, Copies copies, List<Memory> locals, List<Memory> remotes, String what) {
    locals.forEach(memory -> memory.paint(seed()));
    remotes.forEach(memory -> memory.paint(seed()));
    copies.expect(op);
    Transfer transfer = pair().prepare(op, copies).flush(op == Op.WRITE);
    assertThat(transfer.end()).as("the end before the first post").isNull();
    assertThat(transfer.id()).as("the number before the first post").isZero();
    Ends.run(transfer);
    copies.verify(what);
  }

  @Test
  default void movesShuffledBlocks() {
    movesShuffled(4096, 4096);
  }

  /** More than any path takes at once. */
  @Test
  default void movesManySmallBlocks() {
    movesShuffled(24_576, 256);
  }

  private void movesShuffled(int blocks, long block) {
    // Every second place stays free, as a guard between blocks.
    try (Memory local = pair().local(2L * blocks * block);
        Memory remote = pair().remote(2L * blocks * block)) {
      BlockList from = BlockList.strided(local.address(), 2 * block, block, blocks);
      BlockList to = BlockList.strided(remote.address() + block, 2 * block, block, blocks);
      for (Op op : Op.values()) {
        int[] localIndices = shuffled(blocks, seed());
        int[] remoteIndices = shuffled(blocks, seed());
        Copies copies = new Copies(List.of(local), from, localIndices, List.of(remote), to, remoteIndices);
        run(op, copies, local, remote, op + " of shuffled blocks of " + block + " bytes");
      }
    }
  }

  private static int[] shuffled(int count, long seed) {
    int[] indices = IntStream.range(0, count).toArray();
    Random random = new Random(seed);
    for (int i = count - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int swapped = indices[i];
      indices[i] = indices[j];
      indices[j] = swapped;
    }
    return indices;
  }

  @Test
  default void readsSourcesThatOverlap() {
    int count = 500;
    try (Memory local = pair().local(256 * KIB);
        Memory remote = pair().remote(256 * KIB)) {
      for (Op op : Op.values()) {
        Random random = new Random(seed());
        BlockList.Builder sources = BlockList.builder();
        BlockList.Builder destinations = BlockList.builder();
        Memory source = op == Op.WRITE ? local : remote;
        Memory destination = op == Op.WRITE ? remote : local;
        long at = GUARD;
        for (int i = 0; i < count; i++) {
          int length = random.nextInt(500);
          // Now and then the very same bytes again.
          long from = i % 5 == 0 ? GUARD : random.nextInt((int) source.length() - 500);
          sources.add(source.address() + from, length);
          destinations.add(destination.address() + at, length);
          at += length + random.nextInt(3);
        }
        Copies copies =
            op == Op.WRITE
                ? Copies.of(local, sources.build(), remote, destinations.build())
                : Copies.of(local, destinations.build(), remote, sources.build());
        run(op, copies, local, remote, op + " of sources that overlap");
      }
    }
  }

  @Test
  default void movesUnevenBlocksOverSeveralRegions() {
    int count = 1500;
    List<Memory> locals = new ArrayList<>();
    List<Memory> remotes = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) {
        locals.add(pair().local((3L + i) * MIB));
        remotes.add(pair().remote((5L - i) * MIB));
      }
      for (Op op : Op.values()) {
        Random random = new Random(seed());
        long[] localAt = {11, 0, 1};
        long[] remoteAt = {0, 3, 0};
        BlockList.Builder local = BlockList.builder();
        BlockList.Builder remote = BlockList.builder();
        for (int i = 0; i < count; i++) {
          int length = random.nextInt(4) == 0 ? random.nextInt(20) : random.nextInt(8000);
          int l = random.nextInt(3);
          int r = random.nextInt(3);
          if (localAt[l] + length > locals.get(l).length() || remoteAt[r] + length > remotes.get(r).length()) {
            continue;
          }
          local.add(locals.get(l).address() + localAt[l], length);
          remote.add(remotes.get(r).address() + remoteAt[r], length);
          localAt[l] += length + random.nextInt(2);
          remoteAt[r] += length + random.nextInt(2);
        }
        Copies copies = Copies.of(locals, local.build(), remotes, remote.build());
        run(op, copies, locals, remotes, op + " of uneven blocks over several regions");
      }
    } finally {
      locals.forEach(Memory::close);
      remotes.forEach(Memory::close);
    }
  }

  @Test
  default void movesRandomPlans() {
    try (Memory local = pair().local(MIB);
        Memory remote = pair().remote(MIB)) {
      for (int round = 0; round < 40; round++) {
        long seed = seed();
        Random random = new Random(seed);
        Op op = random.nextBoolean() ? Op.WRITE : Op.READ;
        int blocks = 1 + random.nextInt(40);
        int longest = 1 << random.nextInt(5, 14);
        BlockList.Builder sources = BlockList.builder();
        BlockList.Builder destinations = BlockList.builder();
        Memory source = op == Op.WRITE ? local : remote;
        Memory destination = op == Op.WRITE ? remote : local;
        long at = random.nextInt(100);
        for (int i = 0; i < blocks; i++) {
          int length = random.nextInt(longest + 1);
          sources.add(source.address() + random.nextInt(MIB - longest), length);
          destinations.add(destination.address() + at, length);
          at += length + random.nextInt(200);
        }
        Copies copies =
            op == Op.WRITE
                ? Copies.of(local, sources.build(), remote, destinations.build())
                : Copies.of(local, destinations.build(), remote, sources.build());
        run(op, copies, local, remote, op + " with seed " + seed);
      }
    }
  }

  /** An emulated machine takes its time to pin a million pages, and to let go of them. */
  @Test
  @Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  default void reachesBeyondFourGibibytes() throws IOException {
    long size = (5L << 30) + GUARD;
    // Around 4 GiB, where a 32-bit offset would come round, and at the very end.
    long[] offsets = {(4L << 30) - 12_345, (4L << 30) + 64 * KIB + 1, size - 40_000};
    int bytes = 40_000;
    try (Arena arena = Arena.ofShared();
        Memory local = pair().local(64 * KIB);
        Region far = reserve(arena, size)) {
      MemorySegment memory = fixture().bytes(far);
      for (long offset : offsets) {
        local.paint(seed());
        TransferPlan plan =
            new TransferPlan(
                BlockPairs.of(local.block(11, bytes), BlockList.of(far.address() + offset, bytes)),
                new Region[] {local.region()},
                new RemoteRegion[] {Memory.remote(far)});
        Ends.run(pair().link().prepare(Op.WRITE, plan).timeout(Waits.PATIENCE).flush(true));
        byte[] sent = local.bytes().asSlice(11, bytes).toArray(ValueLayout.JAVA_BYTE);
        assertThat(memory.asSlice(offset, bytes).mismatch(MemorySegment.ofArray(sent)))
            .as("the first wrong byte of those written at offset %s", offset)
            .isEqualTo(-1);
        assertZeros(memory, offset - GUARD, GUARD);
        assertZeros(memory, offset + bytes, Math.min(GUARD, size - offset - bytes));
        assertZeros(memory, 0, 256 * KIB);
        if (offset >= 4L << 30) {
          assertZeros(memory, offset - (4L << 30), bytes);
        }

        local.paint(seed());
        local.expect(local.address() + 11, MemorySegment.ofArray(sent));
        Ends.run(pair().link().prepare(Op.READ, plan).timeout(Waits.PATIENCE));
        local.verify("read back from offset " + offset);
        memory.asSlice(offset, bytes).fill((byte) 0);
      }
    }
  }

  private Region reserve(Arena arena, long size) throws IOException {
    try {
      return fixture().reserve(pair().target().registry(), arena, size, Access.REMOTE_READ_WRITE);
    } catch (MemoryException e) {
      return Assumptions.abort("this machine does not reserve " + size + " bytes: " + e.getMessage());
    }
  }

  private static void assertZeros(MemorySegment memory, long offset, long bytes) {
    assertThat(memory.asSlice(offset, bytes).mismatch(MemorySegment.ofArray(new byte[(int) bytes])))
        .as("the first guard byte that is not zero, from offset %s", offset)
        .isEqualTo(-1);
  }

  @Test
  default void movesBothWaysAtOnce() {
    Link back = pair().target().engine().connect(pair().initiator().description());
    back.awaitUp(Waits.PATIENCE);
    try (Memory here = pair().initiator().memory(4L * MIB, Access.REMOTE_READ_WRITE);
        Memory there = pair().remote(4L * MIB)) {
      for (int round = 0; round < 10; round++) {
        here.paint(seed());
        there.paint(seed());
        // Halves cross each other: the first goes there, the second comes here.
        Copies forth = Copies.of(here, 0, there, 0, 2L * MIB);
        Copies forthBack = Copies.of(there, 2L * MIB, here, 2L * MIB, 2L * MIB);
        forth.expect(Op.WRITE);
        forthBack.expect(Op.WRITE);
        Transfer one = pair().prepare(Op.WRITE, forth).flush(true);
        Transfer other = back.prepare(Op.WRITE, forthBack.plan()).timeout(Waits.PATIENCE).flush(true);
        one.post();
        other.post();
        Ends.done(other);
        Ends.done(one);
        forth.verify("both ways at once");
      }
    } finally {
      back.close();
    }
  }

  /** The proof that the checks above can fail: each kind of damage is done by hand, and must be seen. */
  @Test
  default void seesPlantedDamage() {
    int block = 1000;
    int blocks = 64;
    try (Memory local = pair().local(128 * KIB);
        Memory remote = pair().remote(128 * KIB)) {
      BlockList from = BlockList.strided(local.address() + GUARD, block, block, blocks);
      BlockList to = BlockList.strided(remote.address() + GUARD, block, block, blocks);
      Copies whole = Copies.of(local, from, remote, to);
      MemorySegment bytes = remote.bytes();

      mustSee("a flipped bit", whole, local, remote, whole, () -> flip(bytes, GUARD + 12_345));
      mustSee("a byte before the destination", whole, local, remote, whole, () -> flip(bytes, GUARD - 1));
      mustSee("a byte behind it", whole, local, remote, whole, () -> flip(bytes, GUARD + blocks * block));
      mustSee("two swapped blocks", whole, local, remote, whole, () -> {
        byte[] first = bytes.asSlice(GUARD, block).toArray(ValueLayout.JAVA_BYTE);
        MemorySegment.copy(bytes, GUARD + block, bytes, GUARD, block);
        MemorySegment.copy(first, 0, bytes, ValueLayout.JAVA_BYTE, GUARD + block, block);
      });
      byte[] before = bytes.asSlice(GUARD, block).toArray(ValueLayout.JAVA_BYTE);
      mustSee("a block of the transfer before", whole, local, remote, whole,
          () -> MemorySegment.copy(before, 0, bytes, ValueLayout.JAVA_BYTE, GUARD, block));
      // What the engine is given lacks the last block.
      Copies lacking =
          Copies.of(
              local,
              BlockList.strided(local.address() + GUARD, block, block, blocks - 1),
              remote,
              BlockList.strided(remote.address() + GUARD, block, block, blocks - 1));
      mustSee("a dropped block", lacking, local, remote, whole, () -> {});
    }
  }

  private void mustSee(String what, Copies moved, Memory local, Memory remote, Copies expected, Runnable damage) {
    local.paint(seed());
    remote.paint(seed());
    expected.expect(Op.WRITE);
    Ends.run(pair().prepare(Op.WRITE, moved).flush(true));
    damage.run();
    assertThatThrownBy(() -> expected.verify(what)).as(what).isInstanceOf(AssertionError.class);
  }

  private static void flip(MemorySegment bytes, long at) {
    bytes.set(ValueLayout.JAVA_BYTE, at, (byte) (bytes.get(ValueLayout.JAVA_BYTE, at) ^ 0x10));
  }
}
