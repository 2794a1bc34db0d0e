/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import org.junit.jupiter.api.AfterEach;

/** Two devices of a fake driver that cannot address each other: no kernel may touch memory of both. */
final class FakeTwoGpusApartTest extends TwoGpusContract {
  private final FakeCuda cuda = new FakeCuda(new FakeGpu(2, 1L << 30).setApart());
  private final GpuMemory memory = cuda.start();

  @Override
  GpuMemory memory() {
    return memory;
  }

  @AfterEach
  void noKernelTouchedBoth() {
    assertThat(cuda.gpu().calls("cuLaunchKernel")).as("kernels").isZero();
  }
}
