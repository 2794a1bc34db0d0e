/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.time.Duration;

/**
 * Room for the tables of launches: a few slots of pinned host memory, each with as much memory of the device, used in turn.
 * A slot is used again when the launch that read it is done. For one thread.
 */
final class TableRing implements AutoCloseable {
  private static final int SLOTS = 4;
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  private final GpuStream stream;
  private final int directBytes;
  private final GpuBuffer host;
  private final GpuBuffer device;
  private final GpuEvent[] done = new GpuEvent[SLOTS];
  private final boolean[] used = new boolean[SLOTS];
  private int slot;

  /**
   * Allocates the slots.
   *
   * @param directBytes tables of at most so many bytes are read by the kernel from the host's memory; larger ones are copied
   *     to the device first
   */
  TableRing(GpuStream stream, int directBytes) {
    this.stream = stream;
    this.directBytes = directBytes;
    Gpu gpu = stream.gpu();
    this.host = gpu.allocateHost((long) SLOTS * CopyBatch.TABLE_BYTES);
    this.device = gpu.allocate((long) SLOTS * CopyBatch.TABLE_BYTES);
    for (int i = 0; i < SLOTS; i++) {
      done[i] = gpu.newEvent();
    }
  }

  /** Whether {@link #take} would not wait. */
  boolean isFree() {
    int next = (slot + 1) % SLOTS;
    return !used[next] || done[next].isDone();
  }

  /** Waits for the next slot and gives its address on the host, to be written. */
  long take() {
    slot = (slot + 1) % SLOTS;
    if (used[slot] && !done[slot].isDone()) {
      done[slot].await(DEADLINE);
    }
    return host.address() + (long) slot * CopyBatch.TABLE_BYTES;
  }

  /** Where the kernel finds the table that was written to the slot. */
  long publish(long bytes) {
    long offset = (long) slot * CopyBatch.TABLE_BYTES;
    return bytes <= directBytes ? host.address() + offset : publishOnDevice(bytes);
  }

  /** As {@link #publish}, on the device whatever its size. */
  long publishOnDevice(long bytes) {
    long offset = (long) slot * CopyBatch.TABLE_BYTES;
    stream.copy(host.address() + offset, device.address() + offset, bytes);
    return device.address() + offset;
  }

  /** As {@link #publish}, at an address of the device where the table stays. */
  long publishAt(long address, long bytes) {
    stream.copy(host.address() + (long) slot * CopyBatch.TABLE_BYTES, address, bytes);
    return address;
  }

  /** Marks the slot as used by what was put on the stream since. */
  void launched() {
    stream.record(done[slot]);
    used[slot] = true;
  }

  @Override
  public void close() {
    for (GpuEvent event : done) {
      event.close();
    }
    host.close();
    device.close();
  }
}
