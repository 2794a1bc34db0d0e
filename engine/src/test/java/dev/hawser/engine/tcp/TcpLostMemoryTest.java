/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TruncatedFile;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.PageMappings;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Memory that goes away behind its region: the requests that meet it end, with the reason, and the others go on. */
class TcpLostMemoryTest {
  private static final int BYTES = 4 << 20;

  private final List<String> warnings = new CopyOnWriteArrayList<>();
  private final Logger logger = Logger.getLogger("dev.hawser.engine.tcp");
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          if (line.getLevel().intValue() >= Level.WARNING.intValue()) {
            warnings.add(line.getMessage());
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  private long address;
  private TruncatedFile file;

  TcpRig rig() {
    return new TcpRig();
  }

  @BeforeEach
  void map() {
    logger.addHandler(handler);
    file = new TruncatedFile(BYTES);
    address = file.address();
  }

  @AfterEach
  void unmap() {
    file.close();
    logger.removeHandler(handler);
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0, 64", "WRITE, 0, 20000", "WRITE, 0, 3000000", "WRITE, 1048576, 3000000", "WRITE, 8192, 30000",
      "READ, 0, 64", "READ, 0, 20000", "READ, 0, 3000000", "READ, 1048576, 3000000", "READ, 8192, 30000"
  })
  void atTheTargetItEndsItsOwnRequestsAndItsOwnerIsToldOnce(Op op, long kept, int length) {
    try (TcpRig rig = rig()) {
      Region local = rig.allocate(BYTES);
      Region good = rig.allocate(BYTES);
      Region gone = rig.registry.register(address, BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
      Pattern.fill(local, 1);
      Pattern.fill(good, 2);
      file.cut(kept);

      rig.post(1, op, TcpRig.plan(local, 0, gone, 0, length));
      rig.post(2, op, TcpRig.plan(local, 0, good, 64, length));
      rig.post(3, op, TcpRig.plan(local, 0, gone, 0, length));
      rig.post(4, op, TcpRig.plan(local, 0, good, 0, length));
      rig.pumpUntilCompleted(4);

      assertThat(rig.atInitiator.statuses())
          .containsExactly(
              WorkStatus.REMOTE_UNMAPPED, WorkStatus.SUCCESS, WorkStatus.REMOTE_UNMAPPED, WorkStatus.SUCCESS);
      assertThat(rig.atInitiator.details).containsExactly((long) gone.id(), 0L, (long) gone.id(), 0L);
      assertThat(rig.atInitiator.fault).isNull();
      assertThat(rig.atTarget.fault).isNull();
      if (op == Op.WRITE) {
        assertThat(rig.atTarget.order).containsExactly("refused 1001", "refused 1003");
        Pattern.check(good, 0, length, 1, 0);
      } else {
        Pattern.check(local, 0, length, 2, 0);
      }
      rig.pumpUntil(() -> gone.uses() == 0 && good.uses() == 0);
      assertThat(warnings).singleElement().asString()
          .contains("the memory of " + gone, "is gone at 0x", "its file was truncated",
              "close a region before its memory goes");
    }
  }

  /** What the registry allocated cannot be cut off, but its pages can fail all the same: another file stands for that. */
  private Region allocatedAndLost(TcpRig rig, long kept) {
    Region region = rig.allocate(BYTES);
    PageMappings.unmap(region.address(), BYTES);
    PageMappings.mapSharedAt(region.address(), BYTES, file.fd(), 0);
    file.cut(kept);
    return region;
  }

  @ParameterizedTest
  @CsvSource({
      "WRITE, 0, 64", "WRITE, 0, 20000", "WRITE, 0, 3000000", "WRITE, 1048576, 3000000", "WRITE, 8192, 30000",
      "READ, 0, 64", "READ, 0, 20000", "READ, 0, 3000000", "READ, 1048576, 3000000", "READ, 8192, 30000"
  })
  void allocatedMemoryAtTheTargetIsNoException(Op op, long kept, int length) {
    try (TcpRig rig = rig()) {
      Region local = rig.allocate(BYTES);
      Region good = rig.allocate(BYTES);
      Region gone = allocatedAndLost(rig, kept);
      Pattern.fill(local, 1);
      Pattern.fill(good, 2);

      for (int round = 0; round < 3; round++) {
        rig.post(2 * round + 1, op, TcpRig.plan(local, 0, gone, 0, length));
        rig.post(2 * round + 2, op, TcpRig.plan(local, 0, good, 0, length));
        rig.pumpUntilCompleted(2 * round + 2);
      }

      assertThat(rig.atInitiator.statuses())
          .containsExactly(
              WorkStatus.REMOTE_UNMAPPED, WorkStatus.SUCCESS, WorkStatus.REMOTE_UNMAPPED, WorkStatus.SUCCESS,
              WorkStatus.REMOTE_UNMAPPED, WorkStatus.SUCCESS);
      assertThat(rig.atInitiator.details.getFirst()).isEqualTo(gone.id());
      assertThat(rig.atTarget.fault).isNull();
      if (op == Op.WRITE) {
        Pattern.check(good, 0, length, 1, 0);
      } else {
        Pattern.check(local, 0, length, 2, 0);
      }
      rig.pumpUntil(() -> gone.uses() == 0 && good.uses() == 0);
      assertThat(warnings).singleElement().asString().contains("the memory of " + gone);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 64", "0, 20000", "0, 3000000", "1048576, 3000000", "8192, 30000"})
  void norIsItAtTheInitiator(long kept, int length) {
    try (TcpRig rig = rig()) {
      Region local = rig.allocate(BYTES);
      Region remote = rig.allocate(BYTES);
      Region gone = allocatedAndLost(rig, kept);
      Pattern.fill(remote, 2);

      rig.post(1, Op.READ, TcpRig.plan(gone, 0, remote, 0, length));
      rig.post(2, Op.READ, TcpRig.plan(local, 0, remote, 0, length));
      rig.pumpUntilCompleted(2);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.LOCAL_UNMAPPED, WorkStatus.SUCCESS);
      assertThat(rig.atInitiator.details.getFirst()).isBetween(gone.address(), gone.address() + length - 1);
      assertThat(rig.atInitiator.fault).isNull();
      Pattern.check(local, 0, length, 2, 0);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 64", "0, 20000", "0, 3000000", "1048576, 3000000", "8192, 30000"})
  void atTheInitiatorItEndsTheReadsIntoIt(long kept, int length) {
    try (TcpRig rig = rig()) {
      Region local = rig.allocate(BYTES);
      Region remote = rig.allocate(BYTES);
      Region gone = rig.registry.register(address, BYTES, Device.HOST, Access.LOCAL);
      Pattern.fill(remote, 2);
      file.cut(kept);

      rig.post(1, Op.READ, TcpRig.plan(gone, 0, remote, 0, length));
      rig.post(2, Op.READ, TcpRig.plan(local, 0, remote, 0, length));
      rig.pumpUntilCompleted(2);

      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.LOCAL_UNMAPPED, WorkStatus.SUCCESS);
      assertThat(rig.atInitiator.details.getFirst()).isBetween(address, address + length - 1);
      assertThat(rig.atInitiator.fault).isNull();
      Pattern.check(local, 0, length, 2, 0);
    }
  }

  /** Its bytes were announced already: the path goes, but not for a fault that is held against it. */
  @ParameterizedTest
  @CsvSource({"0, 64", "0, 3000000", "1048576, 3000000"})
  void atTheInitiatorItEndsTheWritesFromItAndTheirPath(long kept, int length) {
    try (TcpRig rig = rig()) {
      Region local = rig.allocate(BYTES);
      Region remote = rig.allocate(BYTES);
      Region gone = rig.registry.register(address, BYTES, Device.HOST, Access.LOCAL);
      file.cut(kept);

      rig.post(1, Op.WRITE, TcpRig.plan(local, 0, remote, 0, length));
      rig.pumpUntilCompleted(1);
      rig.post(2, Op.WRITE, TcpRig.plan(gone, 0, remote, 0, length));
      rig.post(3, Op.WRITE, TcpRig.plan(local, 0, remote, 0, length));
      rig.pumpUntil(() -> rig.atInitiator.completions.size() == 3);

      assertThat(rig.atInitiator.statuses())
          .containsExactly(WorkStatus.SUCCESS, WorkStatus.LOCAL_UNMAPPED, WorkStatus.FLUSHED);
      assertThat(rig.atInitiator.details.get(1)).isBetween(address, address + length - 1);
      PathFault fault = Objects.requireNonNull(rig.atInitiator.fault);
      assertThat(fault.kind()).isEqualTo(PathFault.Kind.ABORTED);
      assertThat(fault.detail()).contains("is gone: its file was truncated");
      rig.pumpUntil(() -> rig.atTarget.fault != null);
      assertThat(remote.uses()).isZero();
    }
  }
}
