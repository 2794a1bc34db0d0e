/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuDeviceOps;
import dev.hawser.memory.gpu.GpuProgress;

/** One stream of a lane: what is put on it, and how far it has come. For the owner of the path that has the lane. */
final class GpuStrand {
  private final GpuDeviceOps ops;
  private final GpuProgress progress;

  GpuStrand(Gpu gpu, int depth) {
    this.ops = GpuDeviceOps.on(gpu);
    this.progress = new GpuProgress(ops.stream(), depth);
  }

  GpuDeviceOps ops() {
    return ops;
  }

  GpuProgress progress() {
    return progress;
  }
}
