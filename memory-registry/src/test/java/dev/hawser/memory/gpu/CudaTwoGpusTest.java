/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.cuda.Cuda;
import org.junit.jupiter.api.condition.EnabledIf;

/** Two real GPUs of one host. */
@EnabledIf(
    value = "twoGpus",
    disabledReason = "fewer than two CUDA devices; perf/labs/gpu/pack.sh makes a tarball whose 'run.sh two' runs this")
final class CudaTwoGpusTest extends TwoGpusContract {
  static boolean twoGpus() {
    return Cuda.present() && Cuda.memory().gpus().size() > 1;
  }

  @Override
  GpuMemory memory() {
    return Cuda.memory();
  }
}
