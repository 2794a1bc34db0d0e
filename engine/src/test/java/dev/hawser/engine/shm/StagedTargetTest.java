/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.mapped.Command;
import dev.hawser.engine.mapped.CommandRing;
import dev.hawser.engine.mapped.LentRegions;
import dev.hawser.engine.mapped.PathSegment;
import dev.hawser.engine.mapped.PathSegment.Side;
import dev.hawser.engine.mapped.PeerMapping;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.staging.SharedSlots;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a target moves for an initiator, and what it refuses to: a wrong place would end the device for its process. */
class StagedTargetTest {
  private static final int WRITE = 2;
  private static final int READ = 1;
  private static final int BYTES = 8192;
  private static final int SLOT = 3;

  private final MemoryRegistry registry =
      MemoryRegistry.builder()
          .allocations(DeviceKind.CUDA, new FakeCuda(new FakeGpu(1, 1L << 30).workInBackground()).start())
          .build();
  private final Region region = registry.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
  private final Region readOnly = registry.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ);
  private final int fd = PathSegment.createFile();
  private final PathSegment segment = PathSegment.initialise(fd, 1, 2);
  private final CommandRing toInitiator = new CommandRing(segment, Side.TARGET);
  private final CommandRing atInitiator = new CommandRing(segment, Side.TARGET);
  private final LentRegions lent = new LentRegions(registry, toInitiator, _ -> null);
  private final StagedTarget target = new StagedTarget(new Staging(registry, true));
  private final Command said = new Command();
  private PeerMapping slots;
  private long base;

  @BeforeEach
  void lend() {
    await(() -> target.isReady(region, toInitiator));
    assertThat(target.canMove(region)).isTrue();
    assertThat(atInitiator.poll(said)).isTrue();
    assertThat(said.kind).isEqualTo(Command.SLOTS);
    slots = PeerMapping.map("/proc/self/fd/" + said.fd, said, 0, said.fileBytes, true);
    base = slots.base();
    lent.answer(region.id());
    lent.answer(readOnly.id());
    assertThat(atInitiator.poll(said)).isTrue();
    assertThat(said.kind).isEqualTo(Command.GRANT);
    assertThat(said.offset).as("the device's number").isEqualTo(LentRegions.number(region.device())).isPositive();
    assertThat(atInitiator.poll(said)).isTrue();
  }

  @AfterEach
  void end() {
    await(target::isIdle);
    target.end();
    lent.releaseAll();
    while (!slots.unmapSome()) {
      // bit by bit
    }
    segment.unmap();
    FileDescriptors.close(fd);
    registry.close();
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as("patience").isNegative();
      Thread.onSpinWait();
    }
  }

  private void entry(int index, long address, long bytes, int id) {
    long at = SharedSlots.entry(base, SLOT, index);
    RawMemory.u64(at, address);
    RawMemory.u64(at + 8, bytes);
    RawMemory.u32(at + 16, id);
  }

  private String move(int access, long entries, long bytes) {
    said.set(Command.MOVE, SLOT);
    said.access = access;
    said.address = LentRegions.number(region.device());
    said.offset = entries;
    said.length = bytes;
    return target.move(said, lent);
  }

  private void awaitMoved() {
    await(
        () -> {
          int _ = target.work(toInitiator, false);
          return atInitiator.poll(said);
        });
    assertThat(said.kind).isEqualTo(Command.MOVED);
    assertThat(said.region).isEqualTo(SLOT);
    assertThat(target.hasWork()).isFalse();
  }

  @Test
  void movesWhatIsLent() {
    long slot = SharedSlots.slot(base, SLOT);
    for (int i = 0; i < 200; i++) {
      RawMemory.u8(slot + i, i);
    }
    entry(0, region.address() + 4000, 150, region.id());
    entry(1, region.address() + 7, 50, region.id());
    assertThat(move(WRITE, 2, 200)).isEmpty();
    assertThat(target.hasWork()).isTrue();
    awaitMoved();
    assertThat(RawMemory.u8(region.address() + 4149)).isEqualTo(149);
    assertThat(RawMemory.u8(region.address() + 7)).isEqualTo(150);
    RawMemory.u8(region.address() + 4000, 99);
    assertThat(move(READ, 2, 200)).isEmpty();
    awaitMoved();
    assertThat(RawMemory.u8(slot)).isEqualTo(99);
    assertThat(RawMemory.u8(slot + 199)).isEqualTo(199);
  }

  @Test
  void refusesPlacesThatAreNotLent() {
    entry(0, region.address() + BYTES - 10, 11, region.id());
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    entry(0, region.address() - 1, 11, region.id());
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    entry(0, region.address(), Long.MAX_VALUE, region.id());
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    entry(0, region.address(), -5, region.id());
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    entry(0, region.address(), 11, region.id() + 1000);
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    entry(0, readOnly.address(), 11, readOnly.id());
    assertThat(move(WRITE, 1, 11)).contains("which it was not lent");
    assertThat(move(READ, 1, 11)).isEmpty();
    awaitMoved();
  }

  @Test
  void refusesRequestsThatAreNone() {
    entry(0, region.address(), 11, region.id());
    assertThat(move(WRITE, 0, 11)).contains("0 pieces");
    assertThat(move(WRITE, SharedSlots.ENTRIES + 1, 11)).contains("pieces");
    assertThat(move(WRITE, 1, (1 << 20) + 1)).contains("bytes moved in one go");
    assertThat(move(WRITE, 1, 12)).contains("1 bytes less than it says");
    assertThat(move(WRITE, 1, 10)).contains("which it was not lent");
    assertThat(move(WRITE, 1, 11)).isEmpty();
    assertThat(move(WRITE, 1, 11)).as("a slot that is under way").contains("none of its");
    said.address = 77;
    assertThat(target.move(said, lent)).contains("none of its");
  }

  @Test
  void whatIsOverIsNotAnswered() {
    entry(0, region.address(), 11, region.id());
    assertThat(move(WRITE, 1, 11)).isEmpty();
    assertThat(target.work(toInitiator, true)).isZero();
    assertThat(target.hasWork()).isFalse();
    assertThat(atInitiator.isEmpty()).isTrue();
  }
}
