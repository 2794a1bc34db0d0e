/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.DriverException;
import dev.hawser.memory.gpu.Gpu;
import org.jspecify.annotations.Nullable;

/**
 * How devices reach a range of host memory.
 *
 * @param pin what holds it for kernels; null if only the driver's own copies may touch it, which is slow
 */
record HostReach(HostPins.@Nullable Held pin) {
  private static final System.Logger LOG = System.getLogger("dev.hawser.gpuipc");

  static final HostReach UNPINNED = new HostReach(null);

  /** Pins the range if the driver does it. */
  static HostReach pin(GpuIpc gpus, long address, long bytes) {
    Gpu gpu = gpus.first();
    try {
      return new HostReach(gpus.pins().hold(gpu, address, bytes));
    } catch (DriverException e) {
      if (e.sticky()) {
        throw e;
      }
      LOG.log(
          System.Logger.Level.INFO,
          "host memory at 0x{0} ({1} bytes) is copied slowly from and to GPUs, for it cannot be pinned: {2}",
          Long.toHexString(address),
          bytes,
          e.getMessage());
      return UNPINNED;
    }
  }

  boolean kernels() {
    return pin != null;
  }

  void release() {
    if (pin != null) {
      pin.release();
    }
  }
}
