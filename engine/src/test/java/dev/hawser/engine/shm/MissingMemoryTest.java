/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.mapped.Loss;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whose memory was missing, where all of it is there again when somebody looks. */
class MissingMemoryTest {
  private static final long BYTES = 64 << 10;

  private final PathRig rig = new PathRig();
  private final Region stays = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
  private final Region ours = rig.foreign(rig.here, BYTES, Access.LOCAL);
  private final Region theirs = rig.foreign(rig.there, BYTES, Access.REMOTE_READ_WRITE);

  @AfterEach
  void close() {
    rig.close();
  }

  @Test
  void itIsWhatWasWritten() {
    assertThat(find(true, ours)).isEqualTo(new Loss(WorkStatus.REMOTE_UNMAPPED, theirs.id()));
    assertThat(find(false, ours)).isEqualTo(new Loss(WorkStatus.LOCAL_UNMAPPED, ours.address()));
  }

  /** A file of the peer's that was truncated in the middle of a READ, and then made longer: here nothing can be missing. */
  @Test
  void itIsNotWhatTheRegistryAllocated() {
    assertThat(find(false, stays)).isEqualTo(new Loss(WorkStatus.REMOTE_UNMAPPED, theirs.id()));
    assertThat(find(true, stays)).isEqualTo(new Loss(WorkStatus.REMOTE_UNMAPPED, theirs.id()));
  }

  private Loss find(boolean write, Region local) {
    TransferPlan plan = PathRig.plan(local, 0, theirs, 0, BYTES);
    return MissingMemory.find(write, plan, 0, BYTES, PeerRegion::new, Math.toIntExact(ProcessHandle.current().pid()));
  }
}
