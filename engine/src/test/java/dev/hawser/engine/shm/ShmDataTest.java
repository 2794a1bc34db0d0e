/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.hawser.engine.mapped.CommandRing;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CloseResult;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionInUseException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Bytes get where they belong, and nowhere else. */
class ShmDataTest {
  private static final int GUARD = 64;

  private PathRig rig;

  @BeforeEach
  void open() {
    rig = new PathRig();
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /** How the target's memory is reached. */
  enum Reach {
    MAPPED, KERNEL
  }

  private Region there(Reach reach, long bytes, Access access) {
    return reach == Reach.MAPPED ? PathRig.mapped(rig.there, bytes, access) : rig.foreign(rig.there, bytes, access);
  }

  @ParameterizedTest
  @CsvSource({
      "0,0,0", "1,0,0", "1,3,5", "7,1,0", "8,0,0", "63,1,2", "4095,1,1", "4097,4095,1", "65536,0,0", "65537,3,17",
      "1048579,5,11", "4194304,0,1", "67108864,0,0", "67108865,1,3"
  })
  void everySizeBothWaysOnBothKindsOfMemory(int bytes, int localOffset, int remoteOffset) {
    for (Reach reach : Reach.values()) {
      Region here = PathRig.mapped(rig.here, bytes + 2 * GUARD + localOffset, Access.LOCAL);
      Region there = there(reach, bytes + 2 * GUARD + remoteOffset, Access.REMOTE_READ_WRITE);
      Pattern.fill(here.segment(), 1);
      Pattern.fill(there.segment(), 2);
      TransferPlan plan = PathRig.plan(here, GUARD + localOffset, there, GUARD + remoteOffset, bytes);

      assertThat(rig.post(10, Op.WRITE, plan)).isTrue();
      rig.pumpUntil(() -> rig.atInitiator.has(10));
      assertThat(rig.atInitiator.statusOf(10)).isEqualTo(WorkStatus.SUCCESS);
      assertMoved(there.segment(), GUARD + remoteOffset, bytes, 2, GUARD + localOffset, 1);

      Pattern.fill(there.segment(), 3);
      assertThat(rig.post(11, Op.READ, plan)).isTrue();
      rig.pumpUntil(() -> rig.atInitiator.has(11));
      assertThat(rig.atInitiator.statusOf(11)).isEqualTo(WorkStatus.SUCCESS);
      assertMoved(here.segment(), GUARD + localOffset, bytes, 1, GUARD + remoteOffset, 3);
      rig.atInitiator.completed.clear();
    }
    assertThat(rig.atInitiator.faults).isEmpty();
  }

  /** The moved bytes are there, and what surrounds them is untouched. */
  private static void assertMoved(
      MemorySegment to, long offset, long bytes, long seedAround, long fromOffset, long seed) {
    assertThat(Pattern.mismatch(to.asSlice(offset, bytes), fromOffset, seed)).as("moved bytes").isEqualTo(-1);
    assertThat(Pattern.mismatch(to.asSlice(0, offset), 0, seedAround)).as("bytes before").isEqualTo(-1);
    long end = offset + bytes;
    assertThat(Pattern.mismatch(to.asSlice(end), end, seedAround)).as("bytes behind").isEqualTo(-1);
  }

  @ParameterizedTest
  @EnumSource
  void thousandsOfShuffledBlocks(Reach reach) {
    int blocks = 4096;
    int bytes = 4096;
    Region here = PathRig.mapped(rig.here, (long) blocks * bytes, Access.LOCAL);
    Region there = there(reach, 2L * blocks * bytes, Access.REMOTE_READ_WRITE);
    Pattern.fill(here.segment(), 1);
    there.segment().fill((byte) 0x5a);
    int[] from = shuffled(blocks, 11);
    int[] to = shuffled(blocks, 12);
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(
                BlockList.strided(here.address(), bytes, bytes, blocks),
                from,
                BlockList.strided(there.address() + bytes, 2L * bytes, bytes, blocks),
                to),
            new Region[] {here},
            new RemoteRegion[] {PathRig.published(there)});
    assertThat(rig.post(1, Op.WRITE, plan)).isTrue();
    rig.pumpUntil(() -> rig.atInitiator.has(1));
    for (int i = 0; i < blocks; i++) {
      long at = 2L * bytes * to[i];
      assertThat(Pattern.mismatch(there.segment().asSlice(at + bytes, bytes), (long) bytes * from[i], 1)).isEqualTo(-1);
      assertThat(there.segment().asSlice(at, bytes).mismatch(filled(bytes))).isEqualTo(-1);
    }

    Region back = PathRig.mapped(rig.here, (long) blocks * bytes, Access.LOCAL);
    TransferPlan read =
        new TransferPlan(
            BlockPairs.of(
                BlockList.strided(back.address(), bytes, bytes, blocks),
                from,
                BlockList.strided(there.address() + bytes, 2L * bytes, bytes, blocks),
                to),
            new Region[] {back},
            new RemoteRegion[] {PathRig.published(there)});
    assertThat(rig.post(2, Op.READ, read)).isTrue();
    rig.pumpUntil(() -> rig.atInitiator.has(2));
    assertThat(Pattern.mismatch(back.segment(), 0, 1)).isEqualTo(-1);
  }

  private static MemorySegment filled(int bytes) {
    byte[] array = new byte[bytes];
    Arrays.fill(array, (byte) 0x5a);
    return MemorySegment.ofArray(array);
  }

  private static int[] shuffled(int n, long seed) {
    int[] order = new int[n];
    Random random = new Random(seed);
    for (int i = 0; i < n; i++) {
      int j = random.nextInt(i + 1);
      order[i] = order[j];
      order[j] = i;
    }
    return order;
  }

  @Test
  void smallRequestsAreDoneWhenPostReturns() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    Pattern.fill(here.segment(), 4);
    TransferPlan plan = PathRig.plan(here, 0, there, 0, 8);
    rig.post(1, Op.WRITE, plan);
    rig.pumpUntil(() -> rig.atInitiator.has(1)); // the first one waits for the grant
    Pattern.fill(here.segment(), 5);
    rig.post(2, Op.WRITE, plan);
    assertThat(Pattern.mismatch(there.segment().asSlice(0, 8), 0, 5)).isEqualTo(-1);
    assertThat(rig.atInitiator.has(2)).isFalse();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
  }

  @Test
  void largeRequestsLeavePollsBounded() {
    long bytes = 64L << 20;
    Region here = PathRig.mapped(rig.here, bytes, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, bytes, Access.REMOTE_WRITE);
    rig.post(1, Op.WRITE, PathRig.plan(here, 0, there, 0, bytes));
    int polls = 0;
    while (!rig.atInitiator.has(1)) {
      rig.turn();
      polls++;
    }
    assertThat(polls).isGreaterThanOrEqualTo(Math.toIntExact(bytes / HostMover.SLICE_BYTES));
  }

  @ParameterizedTest
  @EnumSource
  void whatThePeerDoesNotPermitIsRefusedWhole(Reach reach) {
    Region here = PathRig.mapped(rig.here, 8192, Access.LOCAL);
    Pattern.fill(here.segment(), 1);
    Region readOnly = there(reach, 8192, Access.REMOTE_READ);
    Region writeOnly = there(reach, 8192, Access.REMOTE_WRITE);
    Region closed = there(reach, 8192, Access.LOCAL);
    Pattern.fill(readOnly.segment(), 2);
    rig.post(1, Op.WRITE, PathRig.plan(here, 0, readOnly, 0, 8192));
    rig.post(2, Op.READ, PathRig.plan(here, 0, readOnly, 0, 100));
    rig.post(3, Op.READ, PathRig.plan(here, 0, writeOnly, 0, 100));
    rig.post(4, Op.WRITE, PathRig.plan(here, 0, writeOnly, 0, 100));
    rig.post(5, Op.WRITE, PathRig.plan(here, 0, closed, 0, 100));
    rig.post(6, Op.READ, PathRig.plan(here, 0, closed, 0, 100));
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(rig.atInitiator.statusOf(3)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(rig.atInitiator.statusOf(4)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(rig.atInitiator.statusOf(5)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(rig.atInitiator.statusOf(6)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(Pattern.mismatch(readOnly.segment(), 0, 2)).isEqualTo(-1);
  }

  @ParameterizedTest
  @EnumSource
  void outOfBoundsIsRefusedBeforeAnythingIsMoved(Reach reach) {
    Region here = PathRig.mapped(rig.here, 1 << 20, Access.LOCAL);
    Region there = there(reach, 8192, Access.REMOTE_READ_WRITE);
    Pattern.fill(there.segment(), 2);
    // What the initiator was told of the region is larger than what there is.
    RemoteRegion boast =
        new RemoteRegion(there.id(), there.address(), 1 << 20, there.device(), there.access(), Map.of());
    TransferPlan behind =
        PathRig.plan(
            here,
            BlockList.strided(here.address(), 4096, 4096, 3),
            boast,
            BlockList.strided(there.address(), 4096, 4096, 3));
    assertThat(rig.post(1, Op.WRITE, behind)).isTrue();
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    rig.post(2, Op.WRITE, behind, 0, 8193);
    assertThat(rig.post(3, Op.READ, behind, 8191, 2)).isTrue();
    rig.pump();
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(rig.atInitiator.statusOf(3)).isEqualTo(WorkStatus.REMOTE_ACCESS);
    assertThat(Pattern.mismatch(there.segment(), 0, 2)).isEqualTo(-1);
    // A range of the same plan that stays inside is fine.
    rig.post(4, Op.READ, behind, 0, 8192);
    rig.pump();
    assertThat(rig.atInitiator.statusOf(4)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(Pattern.mismatch(here.segment().asSlice(0, 8192), 0, 2)).isEqualTo(-1);
  }

  @Test
  void readOnlyMemoryHereIsNotReadInto() {
    Region here = rig.here.register(rig.arena.allocate(4096).asReadOnly(), Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    rig.post(1, Op.READ, PathRig.plan(here, 0, there, 0, 100));
    rig.post(2, Op.WRITE, PathRig.plan(here, 0, there, 0, 100));
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.LOCAL_ACCESS);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
  }

  @Test
  void readOnlyRegionsAreMappedReadOnly() throws IOException {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 1 << 20, Access.REMOTE_READ);
    long before = mappings(there, "r--s");
    rig.post(1, Op.READ, PathRig.plan(here, 0, there, 0, 100));
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(mappings(there, "r--s")).isEqualTo(before + 1);
  }

  private static long mappings(Region region, String permissions) throws IOException {
    String inode = " " + region.backing().orElseThrow().inode() + " ";
    try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines.filter(line -> line.contains(inode) && line.contains(" " + permissions + " ")).count();
    }
  }

  @Test
  void regionsThatArePartsOfOneAllocation() {
    Region whole = PathRig.mapped(rig.there, 8 << 20, Access.REMOTE_READ_WRITE);
    Pattern.fill(whole.segment(), 1);
    Region part = rig.there.register(whole.segment().asSlice(5_000_001, 70_000), Access.REMOTE_READ_WRITE);
    Region here = PathRig.mapped(rig.here, 70_000, Access.LOCAL);
    rig.post(1, Op.READ, PathRig.plan(here, 0, part, 0, 70_000));
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(Pattern.mismatch(here.segment(), 5_000_001, 1)).isEqualTo(-1);
  }

  @Test
  void plansOverSeveralRegionsOfBothKinds() {
    Region mapped = PathRig.mapped(rig.there, 1 << 20, Access.REMOTE_READ_WRITE);
    Region foreign = rig.foreign(rig.there, 1 << 20, Access.REMOTE_READ_WRITE);
    Region here = PathRig.mapped(rig.here, 2 << 20, Access.LOCAL);
    Pattern.fill(here.segment(), 9);
    int blocks = 64;
    List<BlockList> remote = new ArrayList<>();
    for (int i = 0; i < 2 * blocks; i++) {
      Region region = i % 2 == 0 ? mapped : foreign;
      remote.add(BlockList.of(region.address() + 1000L * i, 777));
    }
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(
                BlockList.strided(here.address(), 1024, 777, 2L * blocks), BlockList.concat(remote)),
            new Region[] {here},
            new RemoteRegion[] {PathRig.published(mapped), PathRig.published(foreign)});
    rig.post(1, Op.WRITE, plan);
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
    for (int i = 0; i < 2 * blocks; i++) {
      Region region = i % 2 == 0 ? mapped : foreign;
      assertThat(Pattern.mismatch(region.segment().asSlice(1000L * i, 777), 1024L * i, 9)).isEqualTo(-1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aRegionThatClosesIsGivenBackAfterTheRequestUnderWay(Reach reach)
      throws InterruptedException, ExecutionException, TimeoutException {
    long bytes = 64L << 20;
    Region here = PathRig.mapped(rig.here, bytes, Access.LOCAL);
    Region there = there(reach, bytes, Access.REMOTE_READ_WRITE);
    Pattern.fill(here.segment(), 1);
    TransferPlan plan = PathRig.plan(here, 0, there, 0, bytes);
    rig.post(1, Op.WRITE, plan);
    rig.post(2, Op.WRITE, plan, 0, 100);
    long stores = rig.target.progress();
    rig.pumpUntil(() -> rig.target.progress() > stores + 2);
    assertThat(rig.atInitiator.has(1)).as("the request is still under way").isFalse();

    CompletableFuture<CloseResult> close = CompletableFuture.supplyAsync(() -> there.close(Duration.ofSeconds(20)));
    // Without moving anything meanwhile: the thread that closes may begin late, when both requests would be through.
    long deadline = System.nanoTime() + PathRig.PATIENCE.toNanos();
    while (!there.isClosing() && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertThat(there.isClosing()).isTrue();
    assertThat(close).isNotDone();
    MemorySegment memory = there.segment();
    rig.pumpUntil(() -> rig.atInitiator.has(2));
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.REMOTE_REGION_CLOSED);
    rig.pumpUntil(close::isDone);
    assertThat(close.get(1, TimeUnit.SECONDS).quarantined()).isFalse();
    assertThat(memory.byteSize()).isEqualTo(bytes);

    rig.post(3, Op.READ, plan, 0, 100);
    rig.pump();
    assertThat(rig.atInitiator.statusOf(3)).isEqualTo(WorkStatus.REMOTE_REGION_CLOSED);
    assertThat(rig.atInitiator.faults).isEmpty();
  }

  @Test
  void aRegionIsHeldWhileItsPeerIsSilent() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    rig.post(1, Op.WRITE, PathRig.plan(here, 0, there, 0, 100));
    rig.pump();
    assertThat(there.uses()).isEqualTo(1);
    assertThatThrownBy(() -> there.close(Duration.ofMillis(50)))
        .isInstanceOf(RegionInUseException.class);
    rig.target.poll(rig.atTarget); // asks it back, but nobody answers
    assertThat(there.uses()).isEqualTo(1);
    rig.pump();
    assertThat(there.uses()).isZero();
    assertThat(there.close(Duration.ofMillis(50)).quarantined()).isFalse();
  }

  @Test
  void unknownRegionsAreClosedOnes() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    RemoteRegion unknown =
        new RemoteRegion(0x7fff_0001, there.address(), 4096, there.device(), there.access(), Map.of());
    rig.post(
        1,
        Op.WRITE,
        PathRig.plan(here, BlockList.of(here.address(), 100), unknown, BlockList.of(there.address(), 100)));
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.REMOTE_REGION_CLOSED);
  }

  @Test
  void manyRegionsAreAskedForWhateverTheCommandRingHolds() {
    int count = 3 * CommandRing.SLOTS;
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region[] regions = new Region[count];
    for (int i = 0; i < count; i++) {
      regions[i] = rig.foreign(rig.there, 64, Access.REMOTE_READ_WRITE);
    }
    int half = count / 2;
    for (int i = 0; i < half; i++) {
      assertThat(rig.post(i + 1, Op.WRITE, PathRig.plan(here, i % 64, regions[i], 0, 8))).isTrue();
    }
    rig.pump();
    for (int i = half; i < count; i++) {
      assertThat(rig.post(i + 1, Op.WRITE, PathRig.plan(here, i % 64, regions[i], 0, 8))).isTrue();
    }
    rig.pump();
    assertThat(rig.atInitiator.completed).hasSize(count).allMatch(c -> c.status() == WorkStatus.SUCCESS);
    CompletableFuture<Void> closes =
        CompletableFuture.runAsync(
            () -> {
              for (Region region : regions) {
                region.close(Duration.ofSeconds(10));
              }
            });
    rig.pumpUntil(closes::isDone);
    assertThat(closes).isCompleted();
  }

  @Test
  void regionsComeAndGoForEver() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region[] there = new Region[8];
    Random random = new Random(5);
    for (int i = 0; i < 2000; i++) {
      int at = random.nextInt(there.length);
      Region old = there[at];
      if (old != null) {
        CompletableFuture<Void> close = CompletableFuture.runAsync(old::close);
        rig.pumpUntil(close::isDone);
        assertThat(close).isCompleted();
      }
      there[at] = rig.foreign(rig.there, 64, Access.REMOTE_READ_WRITE);
      for (Region region : there) {
        if (region != null) {
          rig.post(i, Op.WRITE, PathRig.plan(here, 0, region, 0, 8));
        }
      }
      rig.pump();
      assertThat(rig.atInitiator.completed).allMatch(c -> c.status() == WorkStatus.SUCCESS);
      rig.atInitiator.completed.clear();
    }
    assertThat(rig.initiator.knownRegions()).isLessThanOrEqualTo(there.length);
  }

  @Test
  void kernelCopyIsRefusedWhereItIsSwitchedOff() {
    try (PathRig off = new PathRig(Map.of("kernel-copy", "false"))) {
      assertThat(off.there.addBinder(off.targeted.binder())).isGreaterThanOrEqualTo(0);
      Region here = PathRig.mapped(off.here, 4096, Access.LOCAL);
      Region foreign = off.foreign(off.there, 4096, Access.REMOTE_READ_WRITE);
      Region mapped = PathRig.mapped(off.there, 4096, Access.REMOTE_READ_WRITE);
      assertThat(foreign.remoteKeys()).isEmpty();
      assertThat(foreign.registration().failures().getFirst().reason()).contains("shm.kernel-copy is false");
      assertThat(mapped.remoteKeys()).hasSize(1);
      off.post(1, Op.WRITE, PathRig.plan(here, 0, foreign, 0, 8));
      off.post(2, Op.WRITE, PathRig.plan(here, 0, mapped, 0, 8));
      off.pump();
      assertThat(off.atInitiator.statusOf(1)).isEqualTo(WorkStatus.REMOTE_ACCESS);
      assertThat(off.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
    }
  }

  @Test
  void postingAllocatesNothing() {
    Region here = PathRig.mapped(rig.here, 1 << 20, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 1 << 20, Access.REMOTE_READ_WRITE);
    TransferPlan[] plans = {PathRig.plan(here, 8, there, 16, 8), PathRig.plan(here, 0, there, 0, 1 << 20)};
    assertThat(allocatedByRound(plans, 0)).isZero();
  }

  @Test
  void copyingByTheKernelAllocatesNothingOfOurs() {
    Region here = PathRig.mapped(rig.here, 1 << 20, Access.LOCAL);
    Region foreign = rig.foreign(rig.there, 1 << 20, Access.REMOTE_READ_WRITE);
    TransferPlan[] plans = {PathRig.plan(here, 3, foreign, 1, 5000)};
    // The JDK slices the segment that takes errno, 40 bytes a call, where its compiler does not see through that.
    long calls = 2L * plans.length;
    assertThat(allocatedByRound(plans, 40 * calls)).isLessThanOrEqualTo(40 * calls);
  }

  /** The bytes that a round allocates once it is compiled: writes and reads each plan, sends a message and a flush. */
  private long allocatedByRound(TransferPlan[] plans, long acceptable) {
    CountingEvents events = new CountingEvents();
    ByteBuffer message = ByteBuffer.allocateDirect(100);
    Runnable round =
        () -> {
          long expected = events.completed + 2L * plans.length + 1;
          for (TransferPlan plan : plans) {
            rig.post(1, Op.WRITE, plan);
            rig.post(2, Op.READ, plan, 0, 4);
          }
          message.clear();
          rig.initiator.postMessage(3, message);
          rig.initiator.postFlush(0, 9, false);
          rig.initiator.flushPosted();
          while (events.completed < expected) {
            rig.initiator.poll(events);
            rig.target.poll(events);
          }
        };
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int rounds = 1000;
    long best = Long.MAX_VALUE;
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (best / rounds > acceptable && System.nanoTime() < deadline) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < rounds; i++) {
        round.run();
      }
      best = Math.min(best, threads.getCurrentThreadAllocatedBytes() - before);
    }
    // Rounded down: a look at the peer makes one call in thousands of polls.
    return best / rounds;
  }
}
