/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The operations over a fake driver, and what a real one cannot be asked for: faults, counts of calls. */
class FakeGpuOpsTest extends GpuOpsContract {
  private final FakeCuda cuda = new FakeCuda(new FakeGpu(2, 1L << 30));

  @Override
  GpuMemory memory() {
    return cuda.start();
  }

  @AfterEach
  void nothingIsLeft() {
    assertThat(cuda.currentContext()).as("the thread's own device is current again").isZero();
  }

  @Test
  void launchesAndCopiesNoMoreThanItNeeds() {
    try (GpuBuffer buffer = gpu.allocate(64 << 20)) {
      BlockPairs shuffled = shuffled(buffer, 4096);
      int launches = cuda.gpu().calls("cuLaunchKernel");
      int copies = cuda.gpu().calls("cuMemcpyAsync");
      ops.copy(shuffled, CopyDirection.LOCAL_TO_REMOTE);
      assertThat(cuda.gpu().calls("cuLaunchKernel") - launches).isOne();
      assertThat(cuda.gpu().calls("cuMemcpyAsync") - copies).as("its table").isOne();
      int allocations = cuda.gpu().callsOf("cuMemAlloc") + cuda.gpu().callsOf("cuMemHostAlloc");
      for (int i = 0; i < 20; i++) {
        ops.copy(shuffled, CopyDirection.LOCAL_TO_REMOTE);
      }
      assertThat(cuda.gpu().callsOf("cuMemAlloc") + cuda.gpu().callsOf("cuMemHostAlloc")).isEqualTo(allocations);
      copies = cuda.gpu().calls("cuMemcpyAsync");
      BlockPairs large =
          BlockPairs.of(
              BlockList.strided(buffer.address(), 32 << 20, 16 << 20, 2, gpu.device()),
              BlockList.strided(buffer.address() + (16 << 20), 32 << 20, 16 << 20, 2, gpu.device()));
      launches = cuda.gpu().calls("cuLaunchKernel");
      ops.copy(large, CopyDirection.LOCAL_TO_REMOTE);
      assertThat(cuda.gpu().calls("cuMemcpyAsync") - copies).as("the copy engine").isEqualTo(2);
      assertThat(cuda.gpu().calls("cuLaunchKernel") - launches).isZero();
    }
  }

  private BlockPairs shuffled(GpuBuffer buffer, int bytes) {
    long half = buffer.bytes() / 2;
    int blocks = (int) (half / bytes);
    int[] from = new Random(4).ints(0, blocks).limit(blocks).toArray();
    return BlockPairs.of(
        BlockList.strided(buffer.address(), bytes, bytes, blocks, gpu.device()),
        from,
        BlockList.strided(buffer.address() + half, bytes, bytes, blocks, gpu.device()),
        null);
  }

  @Test
  void aFaultOfTheDriverHasItsNameNumberAndCure() {
    try (GpuBuffer buffer = gpu.allocate(1 << 20)) {
      cuda.gpu().fail("cuLaunchKernel", 701, 0);
      BlockPairs pairs = shuffled(buffer, 4096);
      assertThatThrownBy(() -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE))
          .isInstanceOfSatisfying(DriverException.class, e -> {
            assertThat(e.number()).isEqualTo(701);
            assertThat(e.numberName()).isEqualTo("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
            assertThat(e.call()).isEqualTo("cuLaunchKernel");
            assertThat(e.sticky()).isFalse();
          });
      ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE);
      ops.finish();
    }
  }

  @Test
  void anIllegalAddressIsSaidToBeTheEndOfTheDevice() {
    FakeCuda other = new FakeCuda(new FakeGpu(1, 1 << 30));
    GpuDeviceOps lost = GpuDeviceOps.on(other.start().gpu(0));
    BlockPairs freed =
        BlockPairs.of(
            BlockList.strided(1L << 45, 8192, 4096, 4, gpu.device()),
            BlockList.strided(1L << 46, 4096, 4096, 4, gpu.device()));
    assertThatThrownBy(
        () -> {
          lost.copy(freed, CopyDirection.LOCAL_TO_REMOTE);
          lost.finish();
        })
        .isInstanceOfSatisfying(DriverException.class, e -> assertThat(e.sticky()).isTrue())
        .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS (700)")
        .hasMessageContaining("restart the process");
    assertThatThrownBy(() -> other.start().gpu(0).allocate(64)).isInstanceOf(RuntimeException.class)
        .hasMessageContaining("700");
  }

  @Test
  void theUsersDeviceStaysCurrent() {
    cuda.setCurrentContext(2);
    try (GpuBuffer buffer = gpu.allocate(4096)) {
      ops.copy(buffer.address(), buffer.address() + 2048, 1024);
      assertThat(cuda.currentContext()).isEqualTo(2);
    } finally {
      cuda.setCurrentContext(0);
    }
  }

  @Test
  void anotherProcessWouldReadTheSameBytes() {
    Gpu peer = new FakeCuda(new FakeGpu(1, 1 << 20)).start().gpu(0);
    try (GpuBuffer buffer = gpu.allocate(8192)) {
      ops.stream().fill(buffer.address(), (byte) 42, 8192);
      IpcExport export = gpu.export(buffer.address() + 4096);
      try (IpcMemory opened = peer.open(export.handle())) {
        assertThat(Native.ALL.get(ValueLayout.JAVA_BYTE, opened.address() + export.offset()))
            .isEqualTo((byte) 42);
      }
      assertThatThrownBy(() -> peer.open(new IpcHandle(new byte[64]))).isInstanceOf(DriverException.class);
      try (GpuEvent event = gpu.newInterprocessEvent(); GpuEvent there = peer.openEvent(event.export())) {
        cuda.gpu().hold(true);
        ops.stream().record(event);
        assertThat(there.isDone()).isFalse();
        cuda.gpu().hold(false);
        assertThat(there.isDone()).isTrue();
      }
    }
  }
}
