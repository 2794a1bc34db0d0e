/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionInUseException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bytes that go where they belong, and only there. */
class TcpDataTest {
  private static final int MARGIN = 64;

  @TempDir
  static Path folder;
  private static TlsConfig tls = TlsConfig.OFF;

  @BeforeAll
  static void makeCertificate() {
    tls = TestCertificates.selfSigned(folder, "cluster");
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0", "WRITE, 1", "WRITE, 7", "WRITE, 4096", "WRITE, 65537", "WRITE, 1048576", "WRITE, 67108864",
      "READ, 0", "READ, 1", "READ, 7", "READ, 4096", "READ, 65537", "READ, 1048576", "READ, 67108864"
  })
  void movesAnySizeBetweenUnalignedPlaces(Op op, int length) {
    try (TcpRig rig = new TcpRig()) {
      moves(rig, op, length);
    }
  }

  @ParameterizedTest
  @CsvSource({"WRITE, 1048577", "READ, 1048577"})
  void movesOverIpv6(Op op, int length) {
    try (TcpRig rig = new TcpRig("[::1]:0", null, TcpSettings.DEFAULTS.with(0, 0, 1000))) {
      moves(rig, op, length);
    }
  }

  @ParameterizedTest
  @CsvSource({"WRITE, 0", "WRITE, 1", "WRITE, 3000001", "READ, 0", "READ, 1", "READ, 3000001"})
  void movesOverTls(Op op, int length) {
    try (TcpRig rig = new TcpRig("127.0.0.1:0", tls, TcpSettings.DEFAULTS.with(0, 0, 0))) {
      moves(rig, op, length);
      blocks(rig, op);
    }
  }

  @ParameterizedTest
  @CsvSource({"WRITE, 300001", "READ, 300001"})
  void movesThroughSmallSocketBuffers(Op op, int length) {
    try (TcpRig rig = new TcpRig("127.0.0.1:0", null, TcpSettings.DEFAULTS.with(20_000, 20_000, 0))) {
      moves(rig, op, length);
    }
  }

  private static void moves(TcpRig rig, Op op, int length) {
    Region local = rig.allocate(length + 3 * MARGIN);
    Region remote = rig.allocate(length + 3 * MARGIN);
    Region from = op == Op.WRITE ? local : remote;
    Region to = op == Op.WRITE ? remote : local;
    int fromOffset = 13;
    int toOffset = MARGIN + 3;
    TransferPlan plan =
        op == Op.WRITE
            ? TcpRig.plan(local, fromOffset, remote, toOffset, length)
            : TcpRig.plan(local, toOffset, remote, fromOffset, length);
    int before = rig.atInitiator.completions.size();
    for (int round = 0; round < 2; round++) {
      Pattern.fill(from, round);
      Pattern.canary(to);

      assertThat(rig.post(round, op, plan)).isTrue();
      rig.pumpUntilCompleted(before + round + 1);

      assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.SUCCESS);
      Pattern.checkCanary(to, 0, toOffset);
      Pattern.check(to, toOffset, length, round, fromOffset);
      Pattern.checkCanary(to, (long) toOffset + length, to.length() - toOffset - length);
    }
    assertThat(local.uses()).isZero();
    assertThat(remote.uses()).isZero();
    assertThat(rig.atTarget.fault).isNull();
  }

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void movesFourThousandShuffledBlocks(Op op) {
    try (TcpRig rig = new TcpRig()) {
      blocks(rig, op);
    }
  }

  private static void blocks(TcpRig rig, Op op) {
    int block = 4096;
    int count = 4096;
    Region local = rig.allocate((long) block * count);
    Region remote = rig.allocate((long) block * count * 2);
    Random random = new Random(11);
    int[] here = shuffled(count, count, random);
    int[] there = shuffled(2 * count, count, random);
    BlockPairs pairs =
        BlockPairs.of(
            BlockList.strided(local.address(), block, block, count),
            here,
            BlockList.strided(remote.address(), block, block, 2L * count),
            there);
    TransferPlan plan = TcpRig.plan(local, TcpRig.published(remote), pairs);
    Region from = op == Op.WRITE ? local : remote;
    Region to = op == Op.WRITE ? remote : local;
    Pattern.fill(from, 5);
    Pattern.canary(to);

    int before = rig.atInitiator.completions.size();
    int posted = 0;
    long chunk = 1 << 20;
    for (long position = 0; position < plan.totalBytes();) {
      if (rig.post(posted, op, plan, position, chunk)) {
        posted++;
        position += chunk;
      } else {
        rig.pump();
      }
    }
    rig.pumpUntilCompleted(before + posted);

    assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.SUCCESS);
    boolean[] written = new boolean[2 * count];
    for (int i = 0; i < count; i++) {
      int source = op == Op.WRITE ? here[i] : there[i];
      int destination = op == Op.WRITE ? there[i] : here[i];
      Pattern.check(to, (long) destination * block, block, 5, (long) source * block);
      written[destination] = true;
    }
    for (int i = 0; i < to.length() / block; i++) {
      if (!written[i]) {
        Pattern.checkCanary(to, (long) i * block, block);
      }
    }
  }

  private static int[] shuffled(int bound, int count, Random random) {
    List<Integer> all = new ArrayList<>(IntStream.range(0, bound).boxed().toList());
    Collections.shuffle(all, random);
    return all.stream().limit(count).mapToInt(Integer::intValue).toArray();
  }

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void refusesWhatIsOutOfBoundsAndAppliesNothingOfIt(Op op) {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(1 << 20);
      Region remote = rig.allocate(8192);
      Pattern.fill(local, 1);
      Pattern.canary(remote);
      byte[] localBefore = Pattern.copy(local);
      // The first two blocks would be fine, the last one reaches one byte beyond the region.
      RemoteRegion boasted =
          new RemoteRegion(
              remote.id(), remote.address(), 1 << 20, remote.device(), remote.access(), Map.of());
      BlockPairs pairs =
          BlockPairs.of(
              BlockList.strided(local.address(), 2048, 1024, 3),
              BlockList.strided(remote.address(), 3585, 1024, 3));

      rig.post(1, op, TcpRig.plan(local, boasted, pairs));
      rig.post(2, op, TcpRig.plan(local, 0, remote, 0, 4096));
      rig.pumpUntilCompleted(1);

      assertThat(rig.atInitiator.fault).isNull();
      assertThat(rig.atTarget.fault).isNull();
      assertThat(rig.atInitiator.completions.getFirst())
          .isEqualTo(new Recorder.Completion(1, WorkStatus.REMOTE_ACCESS));
      rig.pumpUntilCompleted(2);
      assertThat(rig.atInitiator.statuses().getLast()).isEqualTo(WorkStatus.SUCCESS);
      assertThat(remote.uses()).isZero();
      if (op == Op.WRITE) {
        assertThat(rig.atTarget.order).containsExactly("refused 1001");
        Pattern.check(remote, 0, 4096, 1, 0);
        Pattern.checkCanary(remote, 4096, 4096);
      } else {
        byte[] localAfter = Pattern.copy(local);
        for (int i = 4096; i < localAfter.length; i++) {
          assertThat(localAfter[i]).isEqualTo(localBefore[i]);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 1, REMOTE_ACCESS", "WRITE, 0, REMOTE_ACCESS", "WRITE, 2, SUCCESS",
      "READ, 2, REMOTE_ACCESS", "READ, 0, REMOTE_ACCESS", "READ, 1, SUCCESS"
  })
  void keepsToThePermissions(Op op, int access, WorkStatus expected) {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(4096);
      Region remote = rig.allocate(4096, new Access(access));

      rig.post(1, op, TcpRig.plan(local, 0, remote, 0, 4096));
      rig.pumpUntilCompleted(1);

      assertThat(rig.atInitiator.statuses()).containsExactly(expected);
    }
  }

  @Test
  void refusesAddressesThatWrapAround() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(4096);
      Region remote = rig.allocate(4096);
      for (long address : new long[] {-1, -4096, Long.MIN_VALUE, Long.MAX_VALUE - 1, remote.address() - 1}) {
        RemoteRegion lie =
            new RemoteRegion(remote.id(), 1, Long.MAX_VALUE - 1, remote.device(), remote.access(), Map.of());
        if (!lie.contains(address, 4096)) {
          continue; // this machine's own checks see it
        }
        BlockPairs pairs = BlockPairs.of(BlockList.of(local.address(), 4096), BlockList.of(address, 4096));
        rig.post(1, Op.WRITE, TcpRig.plan(local, lie, pairs));
      }
      int posted = rig.initiator.outstanding.size();
      assertThat(posted).isPositive();
      rig.pumpUntilCompleted(posted);
      assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.REMOTE_ACCESS);
    }
  }

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void aRegionThatClosesInTheMiddleIsHeldToTheEndOfTheChunkAndNotLonger(Op op) {
    int length = 16 << 20;
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(length);
      Region remote = rig.allocate(length);
      Pattern.fill(op == Op.WRITE ? local : remote, 3);
      TransferPlan plan = TcpRig.plan(local, 0, remote, 0, length);
      rig.post(1, op, plan);
      rig.post(2, op, plan);
      rig.pumpUntil(() -> remote.uses() > 0);

      assertThatThrownBy(() -> remote.close(Duration.ZERO)).isInstanceOf(RegionInUseException.class);
      rig.pumpUntilCompleted(2);

      assertThat(rig.atInitiator.statuses())
          .containsExactly(WorkStatus.SUCCESS, WorkStatus.REMOTE_REGION_CLOSED);
      assertThat(remote.uses()).isZero();
      Pattern.check(op == Op.WRITE ? remote : local, 0, length, 3, 0);
      remote.close(Duration.ofSeconds(5));
      rig.post(3, op, plan);
      rig.pumpUntilCompleted(3);
      assertThat(rig.atInitiator.statuses().getLast()).isEqualTo(WorkStatus.REMOTE_REGION_CLOSED);
      assertThat(rig.atTarget.fault).isNull();
    }
  }

  @Test
  void localMemoryThatCannotBeWrittenIsNotWritten() {
    try (TcpRig rig = new TcpRig();
        Arena arena = Arena.ofShared()) {
      Region local = rig.registry.register(arena.allocate(4096).asReadOnly(), Access.LOCAL);
      Region remote = rig.allocate(4096);
      Pattern.fill(remote, 1);

      rig.post(1, Op.READ, TcpRig.plan(local, 0, remote, 0, 4096));
      rig.post(2, Op.WRITE, TcpRig.plan(local, 0, remote, 0, 4096));
      rig.pumpUntilCompleted(2);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.LOCAL_ACCESS, WorkStatus.SUCCESS);
      assertThat(Pattern.copy(local)).containsOnly(0);
      local.close();
    }
  }

  @Test
  void reportsInTheOrderOfPostingAndMessagesBehindTheirData() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(1 << 20);
      Region remote = rig.allocate(1 << 20);
      TransferPlan large = TcpRig.plan(local, 0, remote, 0, 1 << 20);
      TransferPlan small = TcpRig.plan(local, 0, remote, 0, 8);
      rig.post(1, Op.WRITE, large);
      rig.post(2, Op.READ, large);
      rig.post(3, Op.WRITE, small);
      rig.initiator.postFlush(4, 77, false);
      rig.initiator.postMessage(5, ByteBuffer.allocate(100));
      rig.initiator.postMessage(0, ByteBuffer.allocate(0));
      rig.post(6, Op.READ, small);
      rig.initiator.postFlush(7, Long.MIN_VALUE, true);
      rig.initiator.postMessage(8, ByteBuffer.allocate(FrameLayout.MAX_MESSAGE_BYTES));
      rig.target.postMessage(9, ByteBuffer.allocate(9));

      rig.pumpUntil(() -> rig.atInitiator.completions.size() == 8 && rig.atTarget.completions.size() == 1);

      assertThat(rig.atInitiator.workIds()).isSorted().containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
      assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.SUCCESS);
      assertThat(rig.atTarget.order)
          .containsSubsequence(
              "flush 77", "message 100", "message 0", "flush " + Long.MIN_VALUE + " abort", "message 5120");
      assertThat(rig.atInitiator.messages).hasSize(1);
    }
  }

  @Test
  void messagesKeepTheirBytes() {
    try (TcpRig rig = new TcpRig()) {
      Random random = new Random(3);
      List<byte[]> sent = new ArrayList<>();
      for (int i = 0; i < 500; i++) {
        byte[] bytes = new byte[random.nextInt(FrameLayout.MAX_MESSAGE_BYTES + 1)];
        random.nextBytes(bytes);
        ByteBuffer message = i % 2 == 0 ? ByteBuffer.wrap(bytes) : direct(bytes);
        int position = message.position();
        while (!rig.initiator.postMessage(i, message)) {
          rig.pump();
        }
        assertThat(message.position()).isEqualTo(position);
        sent.add(bytes);
      }
      rig.pumpUntil(() -> rig.atTarget.messages.size() == 500);
      for (int i = 0; i < 500; i++) {
        assertThat(rig.atTarget.messages.get(i)).isEqualTo(sent.get(i));
      }
      ByteBuffer tooLong = ByteBuffer.allocate(FrameLayout.MAX_MESSAGE_BYTES + 1);
      assertThatThrownBy(() -> rig.initiator.postMessage(1, tooLong)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length + 5).position(5).put(5, bytes);
  }

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void aPeerThatDoesNotReadCostsNoMemoryAndStopsNobodyForEver(Op op) {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(4 << 20);
      Region remote = rig.allocate(4 << 20);
      Pattern.fill(op == Op.WRITE ? local : remote, 8);
      TransferPlan plan = TcpRig.plan(local, 0, remote, 0, 4 << 20);
      int posted = 0;
      int idle = 0;
      // One end alone moves, until it has no room left.
      while (idle < 1000) {
        boolean taken = rig.post(posted, op, plan);
        if (taken) {
          posted++;
        }
        rig.initiator.flushPosted();
        int work = op == Op.WRITE ? rig.initiator.poll(rig.atInitiator) : rig.target.poll(rig.atTarget);
        idle = taken || work > 0 ? 0 : idle + 1;
      }
      assertThat(posted).isEqualTo(Outstanding.DATA_SLOTS);
      assertThat(rig.initiator.segmentBudget()).isZero();
      // The room that is kept back for messages is there.
      for (int i = 0; i < 64; i++) {
        assertThat(rig.initiator.postMessage(0, ByteBuffer.allocate(FrameLayout.MAX_MESSAGE_BYTES))).isTrue();
        assertThat(rig.target.postMessage(0, ByteBuffer.allocate(FrameLayout.MAX_MESSAGE_BYTES))).isTrue();
      }
      assertThat(rig.target.out.pendingBytes()).isLessThan(16 << 20);

      rig.pumpUntilCompleted(posted);

      assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.SUCCESS);
      Pattern.check(op == Op.WRITE ? remote : local, 0, 4 << 20, 8, 0);
      rig.pumpUntil(() -> rig.atTarget.messages.size() == 64 && rig.atInitiator.messages.size() == 64);
      assertThat(rig.initiator.segmentBudget()).isGreaterThanOrEqualTo(FrameLayout.MAX_SEGMENTS);
    }
  }

  @Test
  void manyRefusalsForAPeerThatDoesNotReadThem() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(4096);
      Region remote = rig.allocate(4096, Access.LOCAL);
      TransferPlan plan = TcpRig.plan(local, 0, remote, 0, 4096);
      int posted = 0;
      for (int round = 0; round < 20; round++) {
        while (rig.post(posted, Op.WRITE, plan)) {
          posted++;
        }
        rig.pumpUntilCompleted(posted);
      }
      assertThat(rig.atInitiator.statuses()).hasSize(20 * Outstanding.DATA_SLOTS)
          .containsOnly(WorkStatus.REMOTE_ACCESS);
      assertThat(rig.atTarget.order).hasSize(posted);
    }
  }

  @Test
  void aRandomMixEndsAsItShould() {
    long seed = 77;
    Random random = new Random(seed);
    int slots = 64;
    int slot = 20_000;
    try (TcpRig rig = new TcpRig("127.0.0.1:0", null, TcpSettings.DEFAULTS.with(20_000, 20_000, 0))) {
      Region local = rig.allocate((long) slots * slot);
      Region remote = rig.allocate((long) slots * slot);
      Pattern.fill(local, 1);
      Pattern.fill(remote, 2);
      byte[] here = Pattern.copy(local);
      byte[] there = Pattern.copy(remote);
      boolean[] busy = new boolean[slots];
      long[] slotOf = new long[4000];
      int posted = 0;
      int seen = 0;
      while (seen < slotOf.length) {
        if (posted < slotOf.length) {
          int s = random.nextInt(slots);
          int offset = random.nextInt(slot);
          int length = random.nextInt(slot - offset);
          Op op = random.nextBoolean() ? Op.WRITE : Op.READ;
          long at = (long) s * slot + offset;
          if (!busy[s] && rig.post(posted, op, TcpRig.plan(local, at, remote, at, length))) {
            busy[s] = true;
            slotOf[posted++] = s;
            byte[] from = op == Op.WRITE ? here : there;
            System.arraycopy(from, (int) at, op == Op.WRITE ? there : here, (int) at, length);
          }
        }
        if (random.nextInt(3) > 0) {
          rig.initiator.flushPosted();
          rig.initiator.poll(rig.atInitiator);
        }
        if (random.nextInt(3) > 0) {
          rig.target.poll(rig.atTarget);
        }
        while (seen < rig.atInitiator.completions.size()) {
          busy[(int) slotOf[(int) rig.atInitiator.completions.get(seen).workId()]] = false;
          seen++;
        }
      }
      assertThat(rig.atInitiator.statuses()).as("seed %d", seed).containsOnly(WorkStatus.SUCCESS);
      assertThat(rig.atInitiator.workIds())
          .containsExactlyElementsOf(LongStream.range(0, slotOf.length).boxed().toList());
      assertThat(Pattern.copy(local)).as("seed %d", seed).isEqualTo(here);
      assertThat(Pattern.copy(remote)).as("seed %d", seed).isEqualTo(there);
    }
  }
}
