/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TruncatedFile;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The same where the other side's memory is a device's: slices before and behind are in slots meanwhile. */
class StagedLostMemoryTest {
  private static final int BYTES = 4 << 20;

  private PathRig rig;
  private TruncatedFile file;
  private long address;

  private static MemoryRegistry registry() {
    return PathRig.registry()
        .allocations(DeviceKind.CUDA, new FakeCuda(new FakeGpu(1, 1L << 30).workInBackground()).start())
        .build();
  }

  @BeforeEach
  void open() {
    rig = new PathRig(Map.of(), registry(), registry());
    file = new TruncatedFile(BYTES);
    address = file.address();
  }

  @AfterEach
  void close() {
    rig.close();
    file.close();
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0, 20000", "WRITE, 1048576, 4000000", "READ, 0, 20000", "READ, 1048576, 4000000"
  })
  void atTheInitiatorItEndsItsOwnRequests(Op op, long kept, int length) {
    Region gone = rig.here.register(address, BYTES, Device.HOST, Access.LOCAL);
    Region good = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
    Region remote = rig.there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    file.cut(kept);
    check(op, gone, remote, good, remote, length, WorkStatus.LOCAL_UNMAPPED);
    assertThat(rig.atInitiator.details.get(1L)).isBetween(address + kept, address + length - 1);
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0, 20000", "WRITE, 1048576, 4000000", "READ, 0, 20000", "READ, 1048576, 4000000"
  })
  void atTheTargetItEndsTheRequestsThatMeetIt(Op op, long kept, int length) {
    Region local = rig.here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region gone = rig.there.register(address, BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
    Region good = PathRig.mapped(rig.there, BYTES, Access.REMOTE_READ_WRITE);
    file.cut(kept);
    check(op, local, gone, local, good, length, WorkStatus.REMOTE_UNMAPPED);
    assertThat(rig.atInitiator.details.get(1L)).isEqualTo(gone.id());
  }

  private void check(Op op, Region from, Region to, Region goodFrom, Region goodTo, int length, WorkStatus lost) {
    for (int round = 0; round < 2; round++) {
      rig.post(2 * round + 1, op, PathRig.plan(from, 0, to, 0, length));
      rig.post(2 * round + 2, op, PathRig.plan(goodFrom, 0, goodTo, 0, length));
    }
    rig.pumpUntil(() -> rig.atInitiator.completed.size() == 4);

    assertThat(rig.atInitiator.faults).isEmpty();
    assertThat(rig.atTarget.faults).isEmpty();
    for (int round = 0; round < 2; round++) {
      assertThat(rig.atInitiator.statusOf(2 * round + 1)).isEqualTo(lost);
      assertThat(rig.atInitiator.statusOf(2 * round + 2)).isEqualTo(WorkStatus.SUCCESS);
    }
    rig.pumpUntil(() -> rig.atTarget.arrivals.size() == 2);
    assertThat(rig.atTarget.arrivals).containsExactly("refused 1", "refused 1");
  }
}
