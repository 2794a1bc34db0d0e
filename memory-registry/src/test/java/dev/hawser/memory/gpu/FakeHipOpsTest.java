/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.testkit.FakeGpu;
import dev.hawser.memory.testkit.FakeHip;

/** The operations over a fake HIP. */
class FakeHipOpsTest extends GpuOpsContract {
  @Override
  GpuMemory memory() {
    return new FakeHip(new FakeGpu(1, 1L << 30), 5).start();
  }
}
