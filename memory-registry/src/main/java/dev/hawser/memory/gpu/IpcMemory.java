/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/**
 * Another process's allocation, opened here. The exporter must not free it before this is closed, or this process has
 * ended.
 */
public final class IpcMemory implements AutoCloseable {
  private final Gpu gpu;
  private final long address;
  private boolean closed;

  IpcMemory(Gpu gpu, long address) {
    this.gpu = gpu;
    this.address = address;
  }

  /** Where the first byte of the allocation is in this process. */
  public long address() {
    return address;
  }

  /** Closes it; no work of this process may use it any more. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      gpu.runAlone(driver -> driver.closeMemory(address));
    }
  }
}
