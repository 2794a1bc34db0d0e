/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.testkit.FakeGpu;
import dev.hawser.memory.testkit.FakeHip;

/** The registry with a fake HIP 6, which numbers the types of memory as CUDA's runtime does. */
class FakeHipRegistryTest extends GpuRegistryContract {
  @Override
  GpuMemory memory() {
    return new FakeHip(new FakeGpu(1, 1L << 30), 6).start();
  }
}
