/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who may store, and until when. */
class ShmQuarantineTest {
  private static final long BYTES = 64L << 20;

  private PathRig rig;
  private Region here;
  private Region there;
  private TransferPlan plan;

  @BeforeEach
  void open() {
    rig = new PathRig();
    here = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
    there = PathRig.mapped(rig.there, BYTES, Access.REMOTE_READ_WRITE);
    Pattern.fill(here.segment(), 1);
    plan = PathRig.plan(here, 0, there, 0, BYTES);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /** Posts a large request and stops in the middle of it. */
  private void half() {
    assertThat(rig.post(1, Op.WRITE, plan)).isTrue();
    assertThat(rig.initiator.postMessage(2, ByteBuffer.allocate(8))).isTrue();
    long before = rig.target.progress();
    rig.pumpUntil(() -> rig.target.progress() > before + 3);
    assertThat(rig.atInitiator.completed).isEmpty();
  }

  @Test
  void theInitiatorsAbortNeedsNobody() {
    half();
    assertThat(rig.initiator.drained()).isFalse();
    rig.initiator.abort();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.initiator.drained()).isTrue();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.FLUSHED);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.FLUSHED);
    assertThat(rig.post(3, Op.WRITE, plan)).isFalse();
    assertThat(rig.initiator.postMessage(4, ByteBuffer.allocate(8))).isFalse();
    assertThat(rig.initiator.postFlush(5, 1, false)).isFalse();
    assertThat(rig.initiator.segmentBudget()).isZero();

    rig.pump();
    assertThat(rig.atTarget.messages).as("it was behind what was given up").isEmpty();
    assertThat(rig.atTarget.faults).hasSize(1);
    assertThat(rig.atTarget.faults.getFirst().kind()).isEqualTo(PathFault.Kind.RESET);
    assertThat(rig.target.drained()).isTrue();
    assertThat(there.uses()).isZero();
  }

  @Test
  void theTargetsMemoryStaysInQuarantineUntilTheInitiatorLetsGo() {
    half();
    rig.target.abort();
    for (int i = 0; i < 10_000; i++) {
      rig.target.poll(rig.atTarget);
      assertThat(rig.target.drained()).isFalse();
    }
    assertThat(there.uses()).isEqualTo(1);

    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.atInitiator.faults).hasSize(1);
    assertThat(rig.atInitiator.faults.getFirst().detail()).contains("closed the path");
    rig.target.poll(rig.atTarget);
    assertThat(rig.target.drained()).isTrue();
    assertThat(there.uses()).isZero();
    there.segment().fill((byte) 7);
    rig.pump();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.FLUSHED);
    assertThat(rig.post(3, Op.WRITE, plan, 0, 8)).isFalse();
    for (long i = 0; i < BYTES; i += 511) {
      assertThat(there.segment().get(ValueLayout.JAVA_BYTE, i)).isEqualTo((byte) 7);
    }
  }

  @Test
  void aSmallRequestIsNotStoredOnceTheTargetClosedThePath() {
    rig.post(1, Op.WRITE, plan, 0, 8);
    rig.pump();
    rig.target.abort();
    there.segment().fill((byte) 7);
    assertThat(rig.post(2, Op.WRITE, plan, 0, 8)).isFalse();
    assertThat(there.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 7);
    rig.pump();
    assertThat(rig.target.drained()).isTrue();
    assertThat(rig.atInitiator.faults).hasSize(1);
  }

  @Test
  void whatWasReceivedIsReportedBeforeTheFenceEnds() {
    int count = 300;
    for (int i = 0; i < count; i++) {
      assertThat(rig.initiator.postMessage(0, ByteBuffer.allocate(100))).isTrue();
    }
    rig.initiator.postFlush(0, 5, false);
    rig.initiator.abort();
    rig.target.abort();
    while (!rig.target.drained()) {
      rig.target.poll(rig.atTarget);
    }
    assertThat(rig.atTarget.messages).hasSize(count);
    assertThat(rig.atTarget.flushes).hasSize(1);
  }

  @Test
  void abortIsIdempotentAndFailuresAreReportedOnce() {
    rig.initiator.abort();
    rig.initiator.abort();
    rig.pump();
    rig.target.abort();
    rig.target.abort();
    rig.pump();
    assertThat(rig.atInitiator.faults).isEmpty();
    assertThat(rig.atTarget.faults).hasSize(1);
    assertThat(rig.initiator.drained() && rig.target.drained()).isTrue();
  }

  @Test
  void messagesThatTheInitiatorNeverReadAreFlushed() {
    assertThat(rig.target.postMessage(1, ByteBuffer.allocate(8))).isTrue();
    rig.initiator.abort();
    rig.target.poll(rig.atTarget);
    rig.target.poll(rig.atTarget);
    assertThat(rig.atTarget.statusOf(1)).isEqualTo(WorkStatus.FLUSHED);
  }

  @Test
  void closedPathsLeaveNoDescriptorsAndNoMappings() throws IOException {
    Region warm = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    assertThat(warm.length()).isEqualTo(4096);
    rig.close();
    int descriptors = 0;
    long mappings = 0;
    for (int i = 0; i < 4; i++) {
      open();
      rig.post(1, Op.WRITE, plan, 0, 100_000);
      rig.pump();
      rig.close();
      if (i == 1) {
        descriptors = descriptors();
        mappings = mappings();
      }
    }
    assertThat(descriptors()).isEqualTo(descriptors);
    assertThat(mappings()).isEqualTo(mappings);
  }

  private static int descriptors() {
    String[] names = Objects.requireNonNull(new File("/proc/self/fd").list());
    return names.length;
  }

  private static long mappings() throws IOException {
    try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines.filter(line -> line.contains("memfd:")).count();
    }
  }
}
