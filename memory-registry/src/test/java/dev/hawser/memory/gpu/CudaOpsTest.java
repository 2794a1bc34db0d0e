/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.cuda.Cuda;
import org.junit.jupiter.api.condition.EnabledIf;

/** The operations on a real GPU. */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
class CudaOpsTest extends GpuOpsContract {
  @Override
  GpuMemory memory() {
    return Cuda.memory();
  }
}
