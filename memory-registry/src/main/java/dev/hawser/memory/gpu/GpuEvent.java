/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/** A point in the work of a stream. Thread-safe, but for the close. */
public final class GpuEvent implements AutoCloseable {
  private final Gpu gpu;
  private final long handle;
  private boolean closed;

  GpuEvent(Gpu gpu, long handle) {
    this.gpu = gpu;
    this.handle = handle;
  }

  /** The driver's handle. */
  public long handle() {
    return handle;
  }

  /** Whether what was recorded last is done; true if nothing was. Throws what made the work fail. */
  public boolean isDone() {
    long before = gpu.enter();
    try {
      return gpu.driver().isEventDone(handle);
    } finally {
      gpu.leave(before);
    }
  }

  /**
   * Waits until what was recorded last is done.
   *
   * @throws GpuTimeoutException at the deadline
   */
  public void await(Duration deadline) {
    Waits.until(this::isDone, deadline, this);
  }

  /** Milliseconds from {@code start} to this event; both have timing and are done. */
  public float millisSince(GpuEvent start) {
    return gpu.call(driver -> driver.elapsed(start.handle, handle));
  }

  /** The handle by which another process opens it, if it is an interprocess one. */
  public IpcHandle export() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(IpcHandle.BYTES);
      gpu.run(driver -> driver.exportEvent(handle, bytes.address()));
      return new IpcHandle(bytes.toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      gpu.run(driver -> driver.destroyEvent(handle));
    }
  }

  @Override
  public String toString() {
    return "event 0x" + Long.toHexString(handle) + " of " + gpu;
  }
}
