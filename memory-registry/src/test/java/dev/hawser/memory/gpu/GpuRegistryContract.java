/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a registry must do with the memory of a GPU, on any driver. */
abstract class GpuRegistryContract {
  protected MemoryRegistry registry;
  protected Gpu gpu;

  abstract GpuMemory memory();

  @BeforeEach
  void open() {
    GpuMemory memory = memory();
    gpu = memory.gpu(0);
    registry = MemoryRegistry.builder().allocations(memory.kind(), memory).build();
  }

  @AfterEach
  void close() {
    registry.close();
  }

  @Test
  void theDeviceOfAnAddressIsFoundOut() {
    try (GpuBuffer buffer = gpu.allocate(4 << 20)) {
      Region region = registry.register(buffer.address() + 4096, 8192, Access.REMOTE_READ_WRITE);
      assertThat(region.device()).isEqualTo(gpu.device());
      assertThat(region.address()).isEqualTo(buffer.address() + 4096);
      assertThat(region.registration().contains(buffer.address(), 4 << 20)).isTrue();
      assertThat(region.registration().bufferId()).isNotZero();
      Region again = registry.register(buffer.address() + (1 << 20), 64, gpu.device(), Access.REMOTE_READ);
      assertThat(again.registration()).isSameAs(region.registration());
      assertThatThrownBy(region::segment).hasMessageContaining("GPU");
      region.close();
      again.close();
    }
  }

  @Test
  void hostMemoryStaysHostMemory() {
    MemorySegment pageable = Arena.ofAuto().allocate(4096, 64);
    try (Region region = registry.register(pageable.address(), 4096, Access.REMOTE_READ_WRITE);
        GpuBuffer pinned = gpu.allocateHost(4096);
        Region second = registry.register(pinned.address(), 4096, Access.REMOTE_READ_WRITE)) {
      assertThat(region.device()).isEqualTo(Device.HOST);
      assertThat(second.device()).isEqualTo(Device.HOST);
    }
  }

  @Test
  void anAddressReusedAfterAFreeIsAnotherAllocation() {
    GpuBuffer first = gpu.allocate(2 << 20);
    Region old = registry.register(first.address(), 64, Access.REMOTE_READ);
    first.close();
    try (GpuBuffer second = gpu.allocate(2 << 20)) {
      Region fresh = registry.register(second.address(), 64, Access.REMOTE_READ);
      assertThat(fresh.registration()).isNotSameAs(old.registration());
      assertThat(fresh.registration().bufferId()).isNotEqualTo(old.registration().bufferId());
      fresh.close();
    }
    old.close();
  }

  @Test
  void allocatesAndFreesOnTheDevice() {
    Region region = registry.allocate(3 << 20, gpu.device(), Access.REMOTE_READ_WRITE);
    assertThat(region.device()).isEqualTo(gpu.device());
    assertThat(region.backing()).isEmpty();
    assertThat(gpu.driver().pointer(region.address()).memory()).isEqualTo(PointerInfo.Memory.DEVICE);
    Region inside = registry.register(region.address() + 100, 100, Access.LOCAL);
    region.close();
    assertThat(gpu.driver().pointer(inside.address()).memory()).as("a region is left").isEqualTo(
        PointerInfo.Memory.DEVICE);
    inside.close();
    assertThat(gpu.driver().pointer(inside.address()).memory()).isEqualTo(PointerInfo.Memory.UNKNOWN);
    try (DeviceOps ops = registry.newDeviceOps(gpu.device()); DeviceOps host = registry.newDeviceOps(Device.HOST)) {
      assertThat(ops.device()).isEqualTo(gpu.device());
      assertThat(host.device()).isEqualTo(Device.HOST);
    }
  }

  @Test
  void whatIsWrongIsNamed() {
    MemorySegment host = Arena.ofAuto().allocate(4096, 64);
    assertThatThrownBy(() -> registry.register(host.address(), 64, gpu.device(), Access.LOCAL))
        .isInstanceOf(InvalidMemoryException.class).hasMessageContaining("is no memory of " + gpu.device());
    GpuBuffer freed = gpu.allocate(2 << 20);
    freed.close();
    assertThatThrownBy(() -> registry.register(freed.address(), 64, gpu.device(), Access.LOCAL))
        .isInstanceOf(InvalidMemoryException.class).hasMessageContaining("0x" + Long.toHexString(freed.address()))
        .hasMessageContaining("is no memory of " + gpu.device());
    assertThatThrownBy(() -> registry.allocate(64, new Device(gpu.device().kind(), 99), Access.LOCAL))
        .isInstanceOf(DeviceAbsentException.class).hasMessageContaining(":99 is not among")
        .hasMessageContaining("VISIBLE_DEVICES");
    assertThatThrownBy(() -> registry.allocate(0, gpu.device(), Access.LOCAL)).hasMessageContaining("at least 1");
    assertThatThrownBy(() -> registry.allocate(1L << 50, gpu.device(), Access.LOCAL))
        .hasMessageMatching(".*1125899906842624 bytes.*(CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory) \\(2\\).*");
    try (GpuBuffer buffer = gpu.allocate(2 << 20)) {
      long length = gpu.driver().pointer(buffer.address()).length();
      assertThatThrownBy(() -> registry.register(buffer.address(), length + 1, Access.LOCAL))
          .isInstanceOf(InvalidMemoryException.class).hasMessageContaining("beyond their allocation");
    }
  }
}
