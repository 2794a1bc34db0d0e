/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.memory.Registration;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.gpu.DmaBuf;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.hip.Hip;

/** Gives memory of a GPU a descriptor by which a NIC can register it. */
interface DmaBufExporter {
  /** By the drivers of this machine. */
  DmaBufExporter DRIVERS = DmaBufExporter::byDriver;

  /**
   * The dma-buf behind a registration.
   *
   * @return its descriptor, for the caller to close, and where in it the registration begins
   * @throws RuntimeException if the driver exports none, with its reason
   */
  DmaBuf export(Registration registration);

  private static DmaBuf byDriver(Registration registration) {
    GpuMemory memory =
        switch (registration.device().kind()) {
          case CUDA -> Cuda.memory();
          case HIP -> Hip.memory();
          case HOST -> throw new IllegalArgumentException("the host's memory needs no dma-buf");
        };
    // Drivers export whole pages of the host.
    long page = 4096;
    long start = registration.address() & -page;
    long end = (registration.address() + registration.length() + page - 1) & -page;
    DmaBuf whole = memory.gpu(registration.device()).exportDmaBuf(start, end - start);
    return new DmaBuf(whole.fd(), whole.offset() + registration.address() - start);
  }
}
