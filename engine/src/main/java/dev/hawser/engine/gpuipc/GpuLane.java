/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuStream;

/**
 * Streams of one device, used in turn: while one closes a slice with its mark, the next one is at work already. For the owner
 * of the path that has it.
 */
final class GpuLane {
  private static final int STRANDS = 2;

  private final Gpu gpu;
  private final GpuStrand[] strands = new GpuStrand[STRANDS];
  private final GpuStream blocking;
  private int next;

  GpuLane(Gpu gpu, int depth) {
    this.gpu = gpu;
    this.blocking = gpu.newStream();
    for (int i = 0; i < STRANDS; i++) {
      strands[i] = new GpuStrand(gpu, depth);
    }
  }

  Gpu gpu() {
    return gpu;
  }

  /** The stream for the next slice. */
  GpuStrand next() {
    next = (next + 1) % STRANDS;
    return strands[next];
  }

  /** For copies that the driver may make on the calling thread: never the path's owner's. */
  GpuStream blocking() {
    return blocking;
  }

  boolean isIdle() {
    boolean idle = blocking.isIdle();
    for (GpuStrand strand : strands) {
      idle &= strand.ops().isIdle();
    }
    return idle;
  }

  @Override
  public String toString() {
    return STRANDS + " streams of " + gpu;
  }
}
