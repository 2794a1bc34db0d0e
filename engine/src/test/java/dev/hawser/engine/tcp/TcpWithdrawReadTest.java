/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.memory.Region;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** READs that were taken back: from then on nothing lands, whatever still comes, and all else is as it would have been. */
class TcpWithdrawReadTest {
  private static final long MIB = 1 << 20;
  private static final int SMALL_BUFFERS = 20_000;

  @TempDir
  static Path folder;
  private static TlsConfig tls = TlsConfig.OFF;

  @BeforeAll
  static void makeCertificate() {
    tls = TestCertificates.selfSigned(folder, "cluster");
  }

  private static TcpRig rig(boolean encrypted, boolean told) {
    return new TcpRig("127.0.0.1:0", encrypted ? tls : null, TcpSettings.DEFAULTS.with(SMALL_BUFFERS, SMALL_BUFFERS, 0),
        told);
  }

  @ParameterizedTest
  @CsvSource({"false,true", "true,true", "false,false", "true,false"})
  void onlyTheTransfersReads(boolean encrypted, boolean told) {
    try (TcpRig rig = rig(encrypted, told)) {
      int count = 12;
      Region local = rig.allocate(count * MIB);
      Region remote = rig.allocate(count * MIB);
      Pattern.fill(remote, 1);
      Pattern.canary(local);
      for (int i = 0; i < count; i++) {
        assertThat(rig.post(i, Op.READ, TcpRig.plan(local, i * MIB, remote, i * MIB, MIB))).isTrue();
      }
      rig.pumpUntil(() -> local.segment().get(ValueLayout.JAVA_BYTE, 100_000) == Pattern.at(1, 100_000));
      assertThat(rig.atInitiator.completions).as("it is in the middle of the first").isEmpty();

      int[] taken = {0, 3, 7, 8, 11};
      for (int i : taken) {
        rig.initiator.withdraw(1000L + i);
        canary(local, i);
      }
      rig.pumpUntilCompleted(count);

      assertThat(rig.atInitiator.workIds()).containsExactlyElementsOf(LongStream.range(0, count).boxed().toList());
      for (int i = 0; i < count; i++) {
        int each = i;
        boolean withdrawn = Arrays.stream(taken).anyMatch(t -> t == each);
        assertThat(rig.atInitiator.statuses().get(i)).isEqualTo(withdrawn ? WorkStatus.WITHDRAWN : WorkStatus.SUCCESS);
        if (withdrawn) {
          Pattern.checkCanary(local, i * MIB, MIB);
        } else {
          Pattern.check(local, i * MIB, MIB, 1, i * MIB);
        }
      }
      readsAsEver(rig, local, remote, count);
      assertThat(rig.initiator.progress() < 10 * MIB).as("what is not wanted is not sent").isEqualTo(told);
    }
  }

  /** A READ behind those that were withdrawn: their answers come before its own. */
  private static void readsAsEver(TcpRig rig, Region local, Region remote, int before) {
    Pattern.fill(remote, 2);
    assertThat(rig.post(before, Op.READ, TcpRig.plan(local, 0, remote, 0, MIB))).isTrue();
    rig.pumpUntilCompleted(before + 1);
    assertThat(rig.atInitiator.statuses().getLast()).isEqualTo(WorkStatus.SUCCESS);
    Pattern.check(local, 0, MIB, 2, 0);
    rig.pumpUntil(() -> remote.uses() == 0);
    assertThat(rig.atInitiator.fault).isNull();
    assertThat(rig.atTarget.fault).isNull();
  }

  private static void canary(Region region, int chunk) {
    region.segment().asSlice(chunk * MIB, MIB).fill(Pattern.CANARY);
  }

  /** The rest of a READ that is being answered is not sent, but for the piece that is. */
  @ParameterizedTest
  @CsvSource({"false,true", "true,true", "false,false"})
  void oneThatHasBegunEndsBehindItsPiece(boolean encrypted, boolean told) {
    try (TcpRig rig = rig(encrypted, told)) {
      Region local = rig.allocate(8 * MIB);
      Region remote = rig.allocate(8 * MIB);
      Pattern.fill(remote, 1);
      Pattern.canary(local);
      assertThat(rig.post(0, Op.READ, TcpRig.plan(local, 0, remote, 0, 8 * MIB))).isTrue();
      rig.pumpUntil(() -> local.segment().get(ValueLayout.JAVA_BYTE, 100_000) == Pattern.at(1, 100_000));

      rig.initiator.withdraw(1000);
      Pattern.canary(local);
      rig.pumpUntilCompleted(1);
      readsAsEver(rig, local, remote, 1);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.WITHDRAWN, WorkStatus.SUCCESS);
      Pattern.checkCanary(local, MIB, 7 * MIB);
      assertThat(rig.initiator.progress() < 6 * MIB).as("what is not wanted is not sent").isEqualTo(told);
    }
  }

  /** Neither waits for anything that the peer does. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void itEndsAtOnce(boolean told) {
    try (TcpRig rig = rig(false, told)) {
      Region local = rig.allocate(4 * MIB);
      Region remote = rig.allocate(4 * MIB);
      for (int i = 0; i < 4; i++) {
        assertThat(rig.post(i, Op.READ, TcpRig.plan(local, i * MIB, remote, i * MIB, MIB))).isTrue();
      }
      rig.initiator.flushPosted();
      for (int i = 0; i < 4; i++) {
        rig.initiator.withdraw(1000L + i);
      }
      rig.initiator.poll(rig.atInitiator);

      assertThat(rig.atInitiator.statuses()).isEqualTo(Collections.nCopies(4, WorkStatus.WITHDRAWN));
      readsAsEver(rig, local, remote, 4);
    }
  }

  /** The whole answer was on its way when the READ was taken back. */
  @ParameterizedTest
  @CsvSource({"false,true", "true,true", "false,false"})
  void theAnswerCrosses(boolean encrypted, boolean told) {
    try (TcpRig rig = new TcpRig("127.0.0.1:0", encrypted ? tls : null, TcpSettings.DEFAULTS.with(0, 0, 0), told)) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      Pattern.canary(local);
      Pattern.fill(remote, 1);
      assertThat(rig.post(0, Op.READ, TcpRig.plan(local, 0, remote, 0, 4096))).isTrue();
      rig.initiator.flushPosted();
      for (int i = 0; i < 1000 && (rig.target.taken() == 0 || !rig.target.out.isEmpty()); i++) {
        rig.target.poll(rig.atTarget);
      }
      assertThat(rig.target.taken()).isEqualTo(1);
      assertThat(rig.target.out.isEmpty()).as("all of it was sent").isTrue();

      rig.initiator.withdraw(1000);
      rig.initiator.withdraw(1000);
      rig.initiator.withdraw(77);
      rig.pumpUntilCompleted(1);
      for (int i = 0; i < 100; i++) {
        rig.pump();
      }

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.WITHDRAWN);
      Pattern.checkCanary(local, 0, MIB);
      readsAsEver(rig, local, remote, 1);
    }
  }

  @Test
  void whatTheTargetRefusesAnywayIsWithdrawnAllTheSame() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      Region closed = rig.allocate(MIB);
      assertThat(rig.post(0, Op.READ, TcpRig.plan(local, 0, closed, 0, MIB))).isTrue();
      closed.close();
      rig.initiator.flushPosted();
      rig.target.poll(rig.atTarget);
      rig.initiator.withdraw(1000);
      rig.pumpUntilCompleted(1);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.WITHDRAWN);
      readsAsEver(rig, local, remote, 1);
    }
  }

  @Test
  void nothingLandsBehindItWhenThePathFails() {
    try (TcpRig rig = rig(false, true)) {
      Region local = rig.allocate(4 * MIB);
      Region remote = rig.allocate(4 * MIB);
      Pattern.fill(remote, 1);
      assertThat(rig.post(0, Op.READ, TcpRig.plan(local, 0, remote, 0, 4 * MIB))).isTrue();
      rig.pumpUntil(() -> local.segment().get(ValueLayout.JAVA_BYTE, 100_000) == Pattern.at(1, 100_000));

      rig.initiator.withdraw(1000);
      Pattern.canary(local);
      rig.target.abort();
      rig.pumpUntil(() -> rig.atInitiator.fault != null);
      rig.initiator.abort();
      rig.pumpUntil(rig.initiator::drained);

      // Not FLUSHED: that would be replayed.
      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.WITHDRAWN);
      Pattern.checkCanary(local, 0, 4 * MIB);
      assertThat(remote.uses()).isZero();
    }
  }

  /** A target that is not told sends all of it: who asks and takes back for ever waits for what was asked for before. */
  @Test
  void whatNobodyWantsIsBounded() {
    try (TcpRig rig = rig(false, false)) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      Pattern.fill(remote, 1);
      int posted = 0;
      while (rig.initiator.segmentBudget() > 0) {
        assertThat(rig.post(posted, Op.READ, TcpRig.plan(local, 0, remote, 0, MIB))).isTrue();
        rig.initiator.withdraw(1000L + posted++);
        rig.initiator.poll(rig.atInitiator);
        assertThat(posted).as("READs of 1 MiB").isLessThan(20);
      }
      assertThat(rig.post(posted, Op.READ, TcpRig.plan(local, 0, remote, 0, MIB))).isFalse();
      assertThat(rig.initiator.postMessage(9000, ByteBuffer.allocate(8))).isTrue();

      rig.pumpUntil(() -> rig.initiator.segmentBudget() > 0);
      rig.pumpUntilCompleted(posted + 1);
      readsAsEver(rig, local, remote, posted + 1);
    }
  }

  /** A target takes so many at once, those included that were taken back and that it has not answered. */
  @Test
  void theyCountUntilTheyAreAnswered() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      int rounds = 3 * Outstanding.DATA_SLOTS;
      int posted = 0;
      while (posted < rounds) {
        while (posted < rounds && rig.initiator.segmentBudget() > 0) {
          assertThat(rig.post(posted, Op.READ, TcpRig.plan(local, 0, remote, 0, 1))).isTrue();
          rig.initiator.withdraw(1000L + posted++);
        }
        for (int i = 0; i < 4; i++) {
          rig.initiator.poll(rig.atInitiator); // all have ended, and the target has answered none
        }
        assertThat(rig.atInitiator.completions).hasSize(posted);
        rig.pumpUntil(() -> rig.initiator.segmentBudget() > 0);
      }
      assertThat(rig.atTarget.fault).isNull();
      readsAsEver(rig, local, remote, posted);
    }
  }

  @Test
  void oneTransferInManyReadsIsOneFrame() {
    try (TcpRig rig = rig(false, true)) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      for (int i = 0; i < 100; i++) {
        assertThat(rig.postOf(7, i, Op.READ, TcpRig.plan(local, 0, remote, 0, 8192))).isTrue();
      }
      rig.initiator.flushPosted();
      long before = rig.initiator.out.pendingBytes();
      rig.initiator.withdraw(7);
      assertThat(rig.initiator.out.pendingBytes() - before).isEqualTo(FrameLayout.HEADER_BYTES);
      rig.pumpUntilCompleted(100);
      assertThat(rig.atInitiator.statuses()).containsOnly(WorkStatus.WITHDRAWN);
      readsAsEver(rig, local, remote, 100);
    }
  }
}
