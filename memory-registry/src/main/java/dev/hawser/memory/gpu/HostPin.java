/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/** Host memory that is pinned, so that devices address it as the host does, until this is closed. */
public final class HostPin implements AutoCloseable {
  private final Gpu gpu;
  private final long address;
  private boolean closed;

  HostPin(Gpu gpu, long address) {
    this.gpu = gpu;
    this.address = address;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      gpu.runAlone(driver -> driver.unpinHost(address));
    }
  }
}
