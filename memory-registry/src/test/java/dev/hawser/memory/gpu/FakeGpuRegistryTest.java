/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Access;
import dev.hawser.memory.CloseResult;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.Region;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The registry with a fake driver: allocators and faults that a real one has to be configured for. */
class FakeGpuRegistryTest extends GpuRegistryContract {
  private final FakeCuda cuda = new FakeCuda(new FakeGpu(2, 1L << 30));

  @Override
  GpuMemory memory() {
    return cuda.start();
  }

  @ParameterizedTest
  @EnumSource(
      value = FakeGpu.Kind.class,
      names = {"VIRTUAL", "POOL", "MANAGED", "FOREIGN"})
  void memoryThatNobodyElseCanOpenIsRefusedWithTheSettingToChange(FakeGpu.Kind kind) {
    long address = cuda.gpu().allocate(kind, 0, 1 << 20);
    String cure =
        switch (kind) {
          case VIRTUAL -> "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False";
          case POOL -> "PYTORCH_CUDA_ALLOC_CONF=backend:native";
          case FOREIGN -> "memory of device 0 in another context than its primary one";
          default -> "cuMemAlloc or cudaMalloc";
        };
    assertThatThrownBy(() -> registry.register(address, 64, Access.REMOTE_READ_WRITE))
        .isInstanceOf(InvalidMemoryException.class)
        .hasMessageContaining("0x" + Long.toHexString(address))
        .hasMessageContaining(cure);
  }

  @Test
  void virtualMemoryThatCanBeExportedIsTaken() {
    long address = cuda.gpu().allocate(FakeGpu.Kind.VIRTUAL_EXPORTABLE, 1, 1 << 20);
    try (Region region = registry.register(address, 64, Access.REMOTE_READ_WRITE)) {
      assertThat(region.device().ordinal()).isEqualTo(1);
    }
    assertThatThrownBy(() -> gpu.export(address)).isInstanceOf(
        InvalidMemoryException.class);
  }

  @Test
  void memoryOfAnotherProcessIsTakenAsOursAndPassedOnByItsOwnersHandle() {
    FakeCuda owners = new FakeCuda(new FakeGpu(1, 1L << 30));
    Gpu owner = owners.start().gpu(0);
    IpcExport whole = owner.export(owner.allocate(1 << 20).address());
    AdoptedMemory adopted = gpu.adopt(whole.handle(), whole.length());
    long address = adopted.address() + 4096;
    try (Region region = registry.register(address, 64, Access.REMOTE_READ_WRITE)) {
      assertThat(region.device()).isEqualTo(gpu.device());
      assertThat(region.registration().length()).as("by the whole allocation").isEqualTo(1 << 20);
      assertThat(region.registration().bufferId()).as("no number of the driver's").isNegative();
      IpcExport further = gpu.export(address);
      assertThat(further.handle()).isEqualTo(whole.handle());
      assertThat(further.offset()).isEqualTo(4096);
      assertThat(further.length()).isEqualTo(1 << 20);
    }
    adopted.close();
    adopted.close();
    assertThat(cuda.gpu().openedCount()).isZero();
    assertThatThrownBy(() -> gpu.export(address)).isInstanceOf(InvalidMemoryException.class);
    assertThat(gpu.adopt(whole.handle(), whole.length()).bufferId()).isNotEqualTo(adopted.bufferId());
  }

  @Test
  void memoryThatTheDriverDoesNotFreeIsQuarantinedAndTriedAgain() {
    Region region = registry.allocate(1 << 20, gpu.device(), Access.REMOTE_READ_WRITE);
    cuda.gpu().fail("cuMemFree_v2", 1, 0);
    CloseResult result = region.close(Duration.ofSeconds(1));
    assertThat(result.quarantined()).isTrue();
    assertThat(result.failures().getFirst().reason()).contains("CUDA_ERROR_INVALID_VALUE");
    assertThat(cuda.gpu().allocationCount()).isOne();
    registry.close();
    assertThat(cuda.gpu().allocationCount()).isZero();
  }

  @Test
  void aLostDeviceIsNamedAndTheHostGoesOn() {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    LostDeviceChild.run(gpu, registry, new PrintStream(said, true, StandardCharsets.UTF_8));
    assertThat(said.toString(StandardCharsets.UTF_8).lines())
        .satisfiesExactly(
            kernel -> assertThat(kernel).startsWith("kernel: sticky").contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
            allocate -> assertThat(allocate).startsWith("allocate: sticky").contains("(700)"),
            host -> assertThat(host).isEqualTo("host: copied"));
  }

  @Test
  void anErrorOfTheDriverComesThrough() {
    cuda.gpu().fail("cuPointerGetAttributes", 999, 0);
    assertThatThrownBy(() -> registry.register(1 << 20, 64, Access.LOCAL))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("CUDA_ERROR_UNKNOWN (999)")
        .hasMessageContaining("dmesg");
  }
}
