/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/** An allocation: of the device, or pinned memory of the host. Nothing may use it when it is closed. */
public final class GpuBuffer implements AutoCloseable {
  private final Gpu gpu;
  private final long address;
  private final long bytes;
  private final boolean host;
  private boolean closed;

  GpuBuffer(Gpu gpu, long address, long bytes, boolean host) {
    this.gpu = gpu;
    this.address = address;
    this.bytes = bytes;
    this.host = host;
  }

  /** The first byte. */
  public long address() {
    return address;
  }

  /** Its length. */
  public long bytes() {
    return bytes;
  }

  /** Whether it is pinned memory of the host. */
  public boolean isHost() {
    return host;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      gpu.runAlone(
          driver -> {
            if (host) {
              driver.freeHost(address);
            } else {
              driver.free(address);
            }
          });
    }
  }
}
