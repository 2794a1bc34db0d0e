/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.memory.gpu.AdoptedMemory;

/** Memory of a worker's that it shares, as it is to be reached here. */
sealed interface WorkerMemory {
  /** Bytes of it. */
  long length();

  /** What to add to an address of the worker's to get to the same byte here. */
  long delta(long start);

  /** Nothing here is at it any more. */
  void letGo(long start);

  /** A file that is mapped here, too, at the same address. */
  record Mapped(long length) implements WorkerMemory {
    @Override
    public long delta(long start) {
      return 0;
    }

    @Override
    public void letGo(long start) {
      PageMappings.unmap(start, length);
    }
  }

  /**
   * An allocation of a GPU, which the driver has put somewhere else here.
   *
   * @param device its number with the worker, which may see other GPUs than this process
   */
  record OfGpu(AdoptedMemory here, long device) implements WorkerMemory {
    @Override
    public long length() {
      return here.length();
    }

    @Override
    public long delta(long start) {
      return here.address() - start;
    }

    @Override
    public void letGo(long start) {
      here.close();
    }
  }
}
