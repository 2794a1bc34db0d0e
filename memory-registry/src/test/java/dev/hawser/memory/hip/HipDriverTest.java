/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuBuffer;
import dev.hawser.memory.gpu.GpuDeviceOps;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.gpu.KernelSources;
import dev.hawser.memory.testkit.FakeGpu;
import dev.hawser.memory.testkit.FakeHip;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

class HipDriverTest {
  private final FakeHip hip = new FakeHip(new FakeGpu(2, 1L << 30), 6);

  static boolean libraryHere() {
    try {
      NativeLibrary.open(List.of("libamdhip64.so.5"));
      return true;
    } catch (RuntimeException e) {
      return false;
    }
  }

  @Test
  void tellsWhatItIs() {
    GpuMemory memory = hip.start();
    assertThat(memory.driver().description()).isEqualTo("HIP 6.2 (fake libamdhip64.so)");
    Gpu gpu = memory.gpu(1);
    assertThat(gpu.device()).isEqualTo(Device.hip(1));
    assertThat(gpu.properties().pciBusId()).isEqualTo("0000:c1:00.0");
    assertThat(gpu.properties().dmaBuf()).isTrue();
    assertThat(gpu.properties().streamValues()).isTrue();
  }

  @Test
  void exportsDmaBufsWithTheirOffset() {
    Gpu gpu = hip.start().gpu(0);
    try (GpuBuffer buffer = gpu.allocate(1 << 20)) {
      assertThat(gpu.exportDmaBuf(buffer.address() + 8192, 4096).offset()).isEqualTo(8192);
      assertThatThrownBy(() -> gpu.exportDmaBuf(buffer.address(), 1 << 21))
          .isInstanceOf(HipException.class).hasMessageContaining("hsa_status_t 4097").hasMessageContaining("P2PDMA");
    }
    Gpu old = new FakeHip(new FakeGpu(1, 1 << 20), 5).without("hsa_amd_portable_export_dmabuf").start().gpu(0);
    assertThat(old.properties().dmaBuf()).isFalse();
    assertThatThrownBy(() -> old.exportDmaBuf(4096, 4096)).hasMessageContaining("hipErrorNotSupported (801)");
  }

  @Test
  void whatDoesNotStartIsAbsent() {
    NativeLibrary none = NativeLibrary.of("empty", name -> Optional.empty());
    assertThatThrownBy(() -> HipDriver.start(none, none, none)).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("no hip memory here: empty has no symbol hipInit").hasMessageContaining("ROCm");
    assertThatThrownBy(() -> new FakeHip(new FakeGpu(1, 1), 4).start()).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("HIP 4.2");
    assertThatThrownBy(() -> new FakeHip(new FakeGpu(0, 0), 5).start()).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("/dev/kfd");
    hip.gpu().fail("hipInit", 101, 0);
    assertThatThrownBy(hip::start).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("hipErrorInvalidDevice (101)");
  }

  @Test
  void kernelsThatDoNotCompileComeWithTheCompilersWords() {
    hip.gpu().fail("hiprtcCompileProgram", 6, 0);
    Gpu gpu = hip.start().gpu(0);
    assertThatThrownBy(() -> GpuDeviceOps.on(gpu)).isInstanceOf(HipException.class)
        .hasMessageContaining("hiprtc result 6").hasMessageContaining("kernels.cu:1:1");
  }

  @Test
  void peersAreEnabledOnce() {
    GpuMemory memory = hip.start();
    assertThat(memory.gpu(0).reach(memory.gpu(1))).isTrue();
    assertThat(memory.gpu(0).reach(memory.gpu(1))).isTrue();
    assertThat(memory.gpu(0).reach(memory.gpu(0))).isTrue();
    assertThat(hip.gpu().calls("hipDeviceEnablePeerAccess")).isEqualTo(2);
  }

  @Test
  @EnabledIf(value = "libraryHere", disabledReason = "no libamdhip64.so.5; apt-get install libamdhip64-5")
  void theRealLibraryIsBoundWholeAndSaysThatThereIsNoDevice() {
    assertThat(new HipBindings(NativeLibrary.open(List.of("libamdhip64.so.5"))).init).isNotNull();
    if (!Hip.present()) {
      assertThat(Hip.absence()).contains("/dev/kfd");
    }
    assertThat(Hip.loaded()).isTrue();
  }

  @Test
  @EnabledIf(value = "libraryHere", disabledReason = "no libamdhip64.so.5; apt-get install libamdhip64-5")
  void theRealCompilerTakesTheKernelsForAGivenGpu() {
    HipCompiler compiler = new HipCompiler(NativeLibrary.open(List.of("libamdhip64.so.5")));
    byte[] code = compiler.compile(KernelSources.source(), "gfx90a");
    assertThat(new String(code, StandardCharsets.ISO_8859_1)).contains("hawser_copy_indexed", "hawser_reduce");
    byte[] wrong = "__global__ void f( {".getBytes(StandardCharsets.US_ASCII);
    assertThatThrownBy(() -> compiler.compile(wrong, "gfx90a")).isInstanceOf(HipException.class)
        .hasMessageContaining("error");
  }
}
