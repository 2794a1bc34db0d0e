/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.Access;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.cuda.Cuda;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** What a real driver says of memory that cannot be used, and of a device that is lost. */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
class CudaErrorsTest {
  private static final long BYTES = 2 << 20;
  private final Gpu gpu = Cuda.memory().gpu(0);

  /** The user's own context, by a call that Hawser has no use for. */
  @SuppressWarnings("restricted") // as every binding
  private static MethodHandle call(String name, ValueLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).find(name).orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments));
  }

  @Test
  void memoryOfAnotherContextIsRefusedAndNothingIsLost() throws Throwable {
    gpu.run(d -> {}); // the primary context is retained
    // CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
    MethodHandle create =
        call("cuCtxCreate_v2", ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
    // CUresult cuCtxDestroy_v2(CUcontext ctx);
    MethodHandle destroy = call("cuCtxDestroy_v2", ValueLayout.JAVA_LONG);
    try (Arena arena = Arena.ofConfined();
        MemoryRegistry registry = MemoryRegistry.create()) {
      MemorySegment context = arena.allocate(ValueLayout.JAVA_LONG);
      assertThat((int) create.invoke(context.address(), 0, 0)).isZero();
      try {
        long foreign = gpu.driver().allocate(BYTES); // in the context that is current: the user's
        assertThat(gpu.driver().pointer(foreign).memory()).isEqualTo(PointerInfo.Memory.FOREIGN);
        assertThatThrownBy(() -> registry.register(foreign, BYTES, Access.REMOTE_READ_WRITE))
            .isInstanceOf(InvalidMemoryException.class)
            .hasMessageContaining("0x" + Long.toHexString(foreign))
            .hasMessageContaining("another context than its primary one");
        assertThatThrownBy(() -> gpu.export(foreign)).isInstanceOf(InvalidMemoryException.class)
            .hasMessageContaining("another context than its primary one");
      } finally {
        assertThat((int) destroy.invoke(context.get(ValueLayout.JAVA_LONG, 0))).isZero();
      }
      try (Region usual = registry.allocate(BYTES, gpu.device(), Access.REMOTE_READ_WRITE)) {
        assertThat(usual.device()).isEqualTo(gpu.device());
      }
    }
  }

  @Test
  void aLostDeviceIsNamedAndTheHostGoesOn() throws Exception {
    Process child =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            LostDeviceChild.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    List<String> said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(said).hasSize(4);
    assertThat(said.get(0)).startsWith("kernel: sticky").contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)")
        .contains("restart the process");
    assertThat(said.get(1)).startsWith("allocate: sticky").contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assertThat(said.get(2)).isEqualTo("host: copied");
    assertThat(said.get(3)).isEqualTo("closed");
    assertThat(child.exitValue()).isZero();
    try (GpuBuffer ours = gpu.allocate(BYTES)) {
      assertThat(ours.address()).as("another process's device is not lost").isNotZero();
    }
  }
}
