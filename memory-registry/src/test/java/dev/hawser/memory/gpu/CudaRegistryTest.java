/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.ffi.FileDescriptors;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** The registry with a real GPU. */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
class CudaRegistryTest extends GpuRegistryContract {
  @Override
  GpuMemory memory() {
    return Cuda.memory();
  }

  @Test
  void anOrdinaryRegistryFindsTheDriverByItself() {
    try (GpuBuffer buffer = gpu.allocate(1 << 20);
        MemoryRegistry ordinary = MemoryRegistry.create();
        Region region = ordinary.register(buffer.address(), 1 << 20, Access.REMOTE_READ_WRITE)) {
      assertThat(region.device()).isEqualTo(gpu.device());
    }
  }

  @Test
  void theDeviceTellsWhatItIs() {
    GpuProperties properties = gpu.properties();
    assertThat(properties.name()).isNotBlank();
    assertThat(properties.pciBusId()).matches("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9]");
    assertThat(properties.uuid()).hasSize(32).isEqualTo(properties.uuid().toLowerCase(Locale.ROOT));
    assertThat(properties.bytes()).isGreaterThan(1L << 30);
    assertThat(properties.multiprocessors()).isPositive();
    assertThat(properties.architecture()).startsWith("sm_");
  }

  @Test
  void memoryIsExportedAsDmaBufWhereTheDeviceCan() {
    try (GpuBuffer buffer = gpu.allocate(2 << 20)) {
      if (gpu.properties().dmaBuf()) {
        PointerInfo whole = gpu.driver().pointer(buffer.address());
        DmaBuf exported = gpu.exportDmaBuf(whole.address(), whole.length());
        assertThat(exported.fd()).isPositive();
        FileDescriptors.close(exported.fd());
      }
    }
  }
}
