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
import dev.hawser.memory.Region;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Memory whose file is cut off behind its region: the requests that meet it end at once, with the reason, the path stays. */
class ShmLostMemoryTest {
  private static final int BYTES = 4 << 20;
  private static final int FLOOD = 3000;

  private PathRig rig;
  private TruncatedFile file;
  private long address;

  @BeforeEach
  void open() {
    rig = new PathRig();
    file = new TruncatedFile(BYTES);
    address = file.address();
  }

  @AfterEach
  void close() {
    rig.close();
    file.close();
  }

  private Region remote(boolean mapped) {
    return mapped
        ? PathRig.mapped(rig.there, BYTES, Access.REMOTE_READ_WRITE)
        : rig.foreign(rig.there, BYTES, Access.REMOTE_READ_WRITE);
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, true, 0, 8", "WRITE, true, 0, 20000", "WRITE, true, 0, 3000000", "WRITE, true, 1048576, 3000000",
      "WRITE, true, 8192, 30000", "WRITE, false, 0, 8", "WRITE, false, 0, 3000000", "WRITE, false, 1048576, 3000000",
      "READ, true, 0, 8", "READ, true, 0, 20000", "READ, true, 0, 3000000", "READ, true, 1048576, 3000000",
      "READ, true, 8192, 30000", "READ, false, 0, 8", "READ, false, 0, 3000000", "READ, false, 1048576, 3000000"
  })
  void atTheInitiatorItEndsItsOwnRequests(Op op, boolean mapped, long kept, int length) {
    Region local = rig.here.register(address, BYTES, Device.HOST, Access.LOCAL);
    Region good = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
    Region remote = remote(mapped);
    Pattern.fill(good.segment(), 1);
    file.cut(kept);

    rig.post(1, op, PathRig.plan(local, 0, remote, 0, length));
    rig.post(2, Op.WRITE, PathRig.plan(good, 0, remote, 0, length));
    rig.post(3, op, PathRig.plan(local, 0, remote, 0, length));
    rig.post(4, Op.WRITE, PathRig.plan(good, 0, remote, 0, length));
    rig.pump();

    ends(WorkStatus.LOCAL_UNMAPPED);
    assertThat(rig.atInitiator.details.get(1L)).isBetween(address + kept, address + length - 1);
    assertThat(rig.atTarget.arrivals).containsExactly("refused 1", "refused 1");
    assertThat(Pattern.mismatch(remote.segment().asSlice(0, length), 0, 1)).isEqualTo(-1);
    assertThat(local.close(Duration.ofSeconds(1)).quarantined()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0, 8", "WRITE, 0, 20000", "WRITE, 0, 3000000", "WRITE, 1048576, 3000000", "WRITE, 8192, 30000",
      "READ, 0, 8", "READ, 0, 20000", "READ, 0, 3000000", "READ, 1048576, 3000000", "READ, 8192, 30000"
  })
  void atTheTargetItEndsTheRequestsThatMeetIt(Op op, long kept, int length) {
    Region local = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
    Region gone = rig.there.register(address, BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
    Region good = remote(true);
    Pattern.fill(local.segment(), 1);
    file.cut(kept);

    rig.post(1, op, PathRig.plan(local, 0, gone, 0, length));
    rig.post(2, Op.WRITE, PathRig.plan(local, 0, good, 0, length));
    rig.post(3, op, PathRig.plan(local, 0, gone, 0, length));
    rig.post(4, Op.WRITE, PathRig.plan(local, 0, good, 0, length));
    rig.pump();

    ends(WorkStatus.REMOTE_UNMAPPED);
    assertThat(rig.atInitiator.details.get(1L)).isEqualTo(gone.id());
    assertThat(rig.atTarget.arrivals).containsExactly("refused 1", "refused 1");
  }

  private void ends(WorkStatus lost) {
    assertThat(rig.atInitiator.faults).isEmpty();
    assertThat(rig.atTarget.faults).isEmpty();
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(lost);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(rig.atInitiator.statusOf(3)).isEqualTo(lost);
    assertThat(rig.atInitiator.statusOf(4)).isEqualTo(WorkStatus.SUCCESS);
  }

  /** The target hears of each, though it reads nothing for a while and the ring of commands is full. */
  @Test
  void whatFindsNoRoomToTellTheTargetIsToldLater() {
    Region local = rig.here.register(address, BYTES, Device.HOST, Access.LOCAL);
    Region good = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
    Region remote = remote(true);
    rig.post(FLOOD + 1, Op.WRITE, PathRig.plan(good, 0, remote, 0, 8));
    rig.pump();
    file.cut(0);

    int posted = 0;
    long deadline = System.nanoTime() + PathRig.PATIENCE.toNanos();
    while (posted < FLOOD && System.nanoTime() - deadline < 0) {
      if (rig.post(posted + 1, Op.WRITE, PathRig.plan(local, 0, remote, 0, 8))) {
        posted++;
      } else if (rig.initiator.poll(rig.atInitiator) == 0) {
        rig.pump();
      }
    }
    rig.pump();
    rig.post(FLOOD + 2, Op.WRITE, PathRig.plan(good, 0, remote, 0, 8));
    rig.pump();

    assertThat(rig.atInitiator.faults).isEmpty();
    for (int i = 1; i <= FLOOD; i++) {
      assertThat(rig.atInitiator.statusOf(i)).isEqualTo(WorkStatus.LOCAL_UNMAPPED);
    }
    assertThat(rig.atTarget.arrivals).hasSize(FLOOD);
    assertThat(rig.atInitiator.statusOf(FLOOD + 2)).isEqualTo(WorkStatus.SUCCESS);
  }
}
