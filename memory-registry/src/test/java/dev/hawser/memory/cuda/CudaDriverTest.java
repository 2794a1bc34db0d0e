/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuBuffer;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.gpu.GpuStream;
import dev.hawser.memory.gpu.HostPin;
import dev.hawser.memory.gpu.PointerInfo;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CudaDriverTest {
  private final FakeCuda cuda = new FakeCuda(new FakeGpu(2, 1L << 30));

  @Test
  void tellsWhatItIs() {
    GpuMemory memory = cuda.start();
    assertThat(memory.driver().description()).isEqualTo("CUDA driver 13.0 (fake libcuda.so.1)");
    assertThat(memory.gpus()).hasSize(2);
    Gpu second = memory.gpu(1);
    assertThat(second.properties().pciBusId()).isEqualTo("0000:3c:00.0");
    assertThat(second.properties().architecture()).isEqualTo("sm_90");
    assertThat(second.properties().name()).isEqualTo("Fake GPU 1");
    assertThat(second.properties().bytes()).isEqualTo(1L << 30);
    assertThat(second.properties().dmaBuf()).isTrue();
  }

  @Test
  void noDriverIsAbsenceWithTheReason() {
    assertThatThrownBy(() -> CudaDriver.start(NativeLibrary.of("empty", name -> Optional.empty())))
        .isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("empty has no symbol cuInit")
        .hasMessageContaining("install a driver");
    assertThatThrownBy(() -> cuda.without("cuStreamWriteValue64_v2").start()).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("cuStreamWriteValue64");
    if (!Cuda.loaded()) {
      assertThat(Cuda.present()).isFalse();
      assertThat(Cuda.absence()).contains("libcuda.so.1 cannot be loaded");
      assertThatThrownBy(Cuda::memory).isInstanceOf(DeviceAbsentException.class)
          .hasMessageContaining("NVIDIA's driver");
      assertThat(Cuda.loaded()).as("looking for it did not load it").isFalse();
    }
  }

  @Test
  void oldDriversAreRefusedAndYoungerOnesDoWithoutTheNewest() {
    assertThatThrownBy(() -> new FakeCuda(new FakeGpu(1, 1), 10_020).start()).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("is of CUDA 10.2").hasMessageContaining("11.4");
    Gpu old = new FakeCuda(new FakeGpu(1, 1 << 20), 11_040).start().gpu(0);
    try (GpuBuffer buffer = old.allocate(4096)) {
      assertThatThrownBy(() -> old.exportDmaBuf(buffer.address(), 4096)).isInstanceOf(CudaException.class)
          .hasMessageContaining("CUDA_ERROR_NOT_SUPPORTED (801)");
    }
  }

  @ParameterizedTest
  @CsvSource({"cuInit,100,CUDA_VISIBLE_DEVICES", "cuInit,803,reboot", "cuInit,34,stub", "cuDeviceGetCount,999,Xid"})
  void aDriverThatDoesNotStartIsAbsent(String function, int result, String cure) {
    cuda.gpu().fail(function, result, 0);
    assertThatThrownBy(cuda::start).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("(" + result + ")").hasMessageContaining(cure);
  }

  @Test
  void noDeviceIsAbsence() {
    assertThatThrownBy(() -> new FakeCuda(new FakeGpu(0, 0)).start()).isInstanceOf(DeviceAbsentException.class)
        .hasMessageContaining("nvidia-smi");
  }

  @ParameterizedTest
  @ValueSource(ints = {12_080, 13_000})
  void copiesManyRangesInOneCall(int version) {
    Gpu gpu = new FakeCuda(new FakeGpu(1, 1 << 20), version).start().gpu(0);
    assertThat(gpu.driver().hasCopyBatch()).isTrue();
    try (Arena arena = Arena.ofConfined();
        GpuStream stream = gpu.newStream();
        GpuBuffer from = gpu.allocate(4096);
        GpuBuffer to = gpu.allocate(4096)) {
      stream.fill(from.address(), (byte) 3, 4096);
      stream.fill(to.address(), (byte) 1, 4096);
      MemorySegment froms = arena.allocateFrom(ValueLayout.JAVA_LONG, from.address(), from.address() + 100);
      MemorySegment tos = arena.allocateFrom(ValueLayout.JAVA_LONG, to.address() + 1000, to.address());
      MemorySegment sizes = arena.allocateFrom(ValueLayout.JAVA_LONG, 10, 20);
      gpu.run(d -> d.copyBatch(froms.address(), tos.address(), sizes.address(), 2, stream.handle()));
      stream.await(Duration.ofSeconds(5));
      @SuppressWarnings("restricted") // the fake's memory is the process's
      MemorySegment seen = MemorySegment.ofAddress(to.address()).reinterpret(4096);
      assertThat(seen.get(ValueLayout.JAVA_BYTE, 1009)).isEqualTo((byte) 3);
      assertThat(seen.get(ValueLayout.JAVA_BYTE, 1010)).isEqualTo((byte) 1);
      assertThat(seen.get(ValueLayout.JAVA_BYTE, 19)).isEqualTo((byte) 3);
    }
  }

  @Test
  void pinsHostMemoryOnce() {
    Gpu gpu = cuda.start().gpu(0);
    MemorySegment host = Arena.ofAuto().allocate(8192, 4096);
    HostPin pin = gpu.pin(host.address(), 8192);
    assertThat(gpu.driver().pointer(host.address() + 100).memory()).isEqualTo(PointerInfo.Memory.HOST);
    assertThatThrownBy(() -> gpu.pin(host.address() + 4096, 4096))
        .isInstanceOf(CudaException.class).hasMessageContaining("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)");
    pin.close();
    assertThat(gpu.driver().pointer(host.address()).memory()).isEqualTo(PointerInfo.Memory.UNKNOWN);
  }

  @Test
  void everyResultHasAName() {
    assertThat(CudaResults.name(2)).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
    assertThat(CudaResults.name(999)).isEqualTo("CUDA_ERROR_UNKNOWN");
    assertThat(CudaResults.name(4711)).isEqualTo("CUDA result 4711");
    assertThat(CudaResults.sticky(700)).isTrue();
    assertThat(CudaResults.sticky(2)).isFalse();
    DriverException e = new CudaException("cuMemAlloc(5 bytes)", 2);
    assertThat(e).hasMessageStartingWith("cuMemAlloc(5 bytes) failed: CUDA_ERROR_OUT_OF_MEMORY (2): ");
  }

  @Test
  void theFirstEntryRetainsThePrimaryContextOnce() {
    GpuMemory memory = cuda.start();
    for (int i = 0; i < 3; i++) {
      memory.gpu(1).allocate(64);
    }
    assertThat(cuda.gpu().calls("cuDevicePrimaryCtxRetain")).isOne();
    assertThat(cuda.currentContext()).isZero();
    memory.gpu(1).adoptThread();
    int switches = cuda.gpu().calls("cuCtxSetCurrent");
    memory.gpu(1).allocate(64);
    assertThat(cuda.gpu().calls("cuCtxSetCurrent")).isEqualTo(switches);
  }
}
