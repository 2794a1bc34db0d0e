/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.Device;
import dev.hawser.memory.cuda.Cuda;
import org.junit.jupiter.api.condition.EnabledIf;

/** The same with memory on two GPUs: here on the first, in the other process on the second. */
@EnabledIf(
    value = "twoGpus",
    disabledReason = "fewer than two CUDA devices; perf/labs/gpu/pack.sh makes a tarball whose 'run.sh two' runs this")
final class GpuIpcTwoGpusCudaTest extends GpuIpcCudaTest {
  @Override
  Device there() {
    return Device.cuda(1);
  }

  static boolean twoGpus() {
    return Cuda.present() && Cuda.memory().gpus().size() > 1;
  }
}
