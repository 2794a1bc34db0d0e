/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;

/** Two devices of a fake driver that address each other. */
final class FakeTwoGpusTest extends TwoGpusContract {
  private final GpuMemory memory = new FakeCuda(new FakeGpu(2, 1L << 30)).start();

  @Override
  GpuMemory memory() {
    return memory;
  }
}
