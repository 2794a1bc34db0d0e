/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What has not left is taken back; all else comes as it would have. */
class TcpWithdrawTest {
  private static final long MIB = 1 << 20;
  private static final int SMALL_BUFFERS = 20_000;

  @TempDir
  static Path folder;
  private static TlsConfig tls = TlsConfig.OFF;

  @BeforeAll
  static void makeCertificate() {
    tls = TestCertificates.selfSigned(folder, "cluster");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void onlyTheTransfersChunksThatHaveNotBegun(boolean encrypted) {
    try (TcpRig rig =
        new TcpRig("127.0.0.1:0", encrypted ? tls : null, TcpSettings.DEFAULTS.with(SMALL_BUFFERS, SMALL_BUFFERS, 0))) {
      int count = 8;
      Region local = rig.allocate(count * MIB);
      Region remote = rig.allocate(count * MIB);
      Pattern.fill(local, 1);
      Pattern.canary(remote);
      for (int i = 0; i < count; i++) {
        assertThat(rig.post(i, Op.WRITE, TcpRig.plan(local, i * MIB, remote, i * MIB, MIB))).isTrue();
      }
      rig.initiator.flushPosted();

      rig.initiator.withdraw(1000); // it has begun
      rig.initiator.withdraw(1003);
      rig.initiator.withdraw(1007);
      local.segment().asSlice(3 * MIB, MIB).fill((byte) 0x55);
      rig.pumpUntilCompleted(count);

      assertThat(rig.atInitiator.workIds()).containsExactlyElementsOf(LongStream.range(0, count).boxed().toList());
      for (int i = 0; i < count; i++) {
        boolean withdrawn = i == 3 || i == 7;
        assertThat(rig.atInitiator.statuses().get(i)).isEqualTo(withdrawn ? WorkStatus.WITHDRAWN : WorkStatus.SUCCESS);
        if (withdrawn) {
          Pattern.checkCanary(remote, i * MIB, MIB);
        } else {
          Pattern.check(remote, i * MIB, MIB, 1, i * MIB);
        }
      }
      assertThat(rig.atTarget.fault).isNull();
      assertThat(remote.uses()).isZero();
    }
  }

  @Test
  void partOfWhatHasBegunIsSentToItsEnd() {
    try (TcpRig rig = new TcpRig("127.0.0.1:0", null, TcpSettings.DEFAULTS.with(SMALL_BUFFERS, SMALL_BUFFERS, 0))) {
      Region local = rig.allocate(4 * MIB);
      Region remote = rig.allocate(4 * MIB);
      Pattern.fill(local, 2);
      Pattern.canary(remote);
      TransferPlan plan = TcpRig.plan(local, 0, remote, 0, 4 * MIB);
      assertThat(rig.post(0, Op.WRITE, plan, 0, 2 * MIB)).isTrue();
      rig.initiator.flushPosted();

      rig.initiator.withdraw(1000);
      rig.pumpUntilCompleted(1);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.SUCCESS);
      Pattern.check(remote, 0, 2 * MIB, 2, 0);
      Pattern.checkCanary(remote, 2 * MIB, 2 * MIB);
    }
  }

  /** A header may be in one place of the queue with the message before it. */
  @Test
  void messagesAroundItComeUnharmed() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(MIB);
      Region remote = rig.allocate(MIB);
      Pattern.canary(remote);
      // With gaps: as many segments as blocks.
      BlockPairs pairs =
          BlockPairs.of(
              BlockList.strided(local.address(), 8192, 4096, 100),
              BlockList.strided(remote.address(), 8192, 4096, 100));
      TransferPlan plan = TcpRig.plan(local, TcpRig.published(remote), pairs);
      int rounds = 500; // far more control bytes than there are
      for (int round = 0; round < rounds; round++) {
        assertThat(rig.initiator.postMessage(0, message(2 * round))).isTrue();
        assertThat(rig.post(round, Op.WRITE, plan)).isTrue();
        assertThat(rig.initiator.postMessage(0, message(2 * round + 1))).isTrue();
        rig.initiator.withdraw(1000L + round);
        if (round % 2 == 0) {
          rig.pumpUntilCompleted(round + 1);
        }
      }
      rig.pumpUntil(() -> rig.atTarget.messages.size() == 2 * rounds || rig.atTarget.fault != null);
      rig.pumpUntilCompleted(rounds);

      assertThat(rig.atInitiator.statuses()).hasSize(rounds).containsOnly(WorkStatus.WITHDRAWN);
      for (int i = 0; i < 2 * rounds; i++) {
        assertThat(rig.atTarget.messages.get(i)).isEqualTo(message(i).array());
      }
      Pattern.checkCanary(remote, 0, MIB);

      Pattern.fill(local, 3);
      assertThat(rig.post(rounds, Op.WRITE, TcpRig.plan(local, 0, remote, 0, MIB))).isTrue();
      rig.pumpUntilCompleted(rounds + 1);
      Pattern.check(remote, 0, MIB, 3, 0);
    }
  }

  private static ByteBuffer message(int number) {
    return ByteBuffer.allocate(4).putInt(0, number);
  }
}
