/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.time.Duration;

/**
 * Work of one device, in order. Methods put work on it and return; thread-safe, but for the close, though the order of
 * what two threads put on it at once is open.
 */
public final class GpuStream implements AutoCloseable {
  /** How long {@link #close} waits. */
  private static final Duration CLOSE_DEADLINE = Duration.ofSeconds(60);

  private final Gpu gpu;
  private final long handle;
  private final boolean owned;
  private boolean closed;

  GpuStream(Gpu gpu, long handle, boolean owned) {
    this.gpu = gpu;
    this.handle = handle;
    this.owned = owned;
  }

  /** The device. */
  public Gpu gpu() {
    return gpu;
  }

  /** The driver's handle. */
  public long handle() {
    return handle;
  }

  /** Copies bytes between memory of devices, pinned host memory, and, slowly, other host memory; no overlap. */
  public void copy(long from, long to, long bytes) {
    long before = gpu.enter();
    try {
      gpu.driver().copy(from, to, bytes, handle);
    } finally {
      gpu.leave(before);
    }
  }

  /** Sets each byte of device memory. */
  public void fill(long address, byte value, long bytes) {
    gpu.run(driver -> driver.fill(address, value, bytes, handle));
  }

  /** Marks this point of the stream. */
  public void record(GpuEvent event) {
    long before = gpu.enter();
    try {
      gpu.driver().recordEvent(event.handle(), handle);
    } finally {
      gpu.leave(before);
    }
  }

  /** What follows waits for what was recorded last, of whatever stream or process. */
  public void waitFor(GpuEvent event) {
    long before = gpu.enter();
    try {
      gpu.driver().waitEvent(handle, event.handle());
    } finally {
      gpu.leave(before);
    }
  }

  /** Writes a 64-bit number behind all earlier work of the stream; {@code address} is a multiple of 8. */
  public void writeValue(long address, long value) {
    long before = gpu.enter();
    try {
      gpu.driver().writeValue(handle, address, value);
    } finally {
      gpu.leave(before);
    }
  }

  /** What follows waits until the 64-bit number at {@code address} is {@code value} or was counted up beyond it. */
  public void waitValue(long address, long value) {
    long before = gpu.enter();
    try {
      gpu.driver().waitValue(handle, address, value);
    } finally {
      gpu.leave(before);
    }
  }

  /** Whether all its work is done. Throws what made it fail. */
  public boolean isIdle() {
    long before = gpu.enter();
    try {
      return gpu.driver().isStreamIdle(handle);
    } finally {
      gpu.leave(before);
    }
  }

  /**
   * Waits until all its work is done.
   *
   * @throws GpuTimeoutException at the deadline
   * @throws dev.hawser.memory.DriverException what made the work fail
   */
  public void await(Duration deadline) {
    Waits.until(this::isIdle, deadline, this);
  }

  /** Waits for its work, and gives it back to the driver, unless it is the user's own. */
  @Override
  public void close() {
    if (!closed && owned) {
      closed = true;
      try {
        await(CLOSE_DEADLINE);
      } finally {
        gpu.run(driver -> driver.destroyStream(handle));
      }
    }
  }

  @Override
  public String toString() {
    return "stream 0x" + Long.toHexString(handle) + " of " + gpu;
  }
}
