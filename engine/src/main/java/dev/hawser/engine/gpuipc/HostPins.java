/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.HostPin;
import java.util.Map;
import java.util.TreeMap;

/**
 * Host memory that was pinned for the kernels of all paths. A range is pinned once, by pages; who needs a part of it shares
 * it. What somebody else pinned is left alone, for they may unpin it whenever they like. Thread-safe.
 */
final class HostPins {
  private static final long PAGE = 4096;

  /** A pinned range, held by those who use it. */
  final class Held {
    private final long from;
    private final long bytes;
    private final HostPin pin;
    private int holders; // guarded by HostPins.this

    private Held(long from, long bytes, HostPin pin) {
      this.from = from;
      this.bytes = bytes;
      this.pin = pin;
    }

    private boolean covers(long start, long length) {
      return start >= from && start + length <= from + bytes;
    }

    /** Lets go; the last one unpins. */
    void release() {
      synchronized (HostPins.this) {
        holders--;
        if (holders == 0) {
          pinned.remove(from);
          pin.close();
        }
      }
    }
  }

  private final TreeMap<Long, Held> pinned = new TreeMap<>(); // guarded by this

  /**
   * Pins a range, or shares what is pinned; may take 35 ms per GiB.
   *
   * @throws dev.hawser.memory.DriverException if the driver does not pin it, for example because part of it is pinned
   *     already
   */
  synchronized Held hold(Gpu gpu, long address, long bytes) {
    Map.Entry<Long, Held> below = pinned.floorEntry(address);
    if (below != null && below.getValue().covers(address, bytes)) {
      below.getValue().holders++;
      return below.getValue();
    }
    long from = address & -PAGE;
    long length = ((address + bytes + PAGE - 1) & -PAGE) - from;
    Held held = new Held(from, length, gpu.pin(from, length));
    held.holders = 1;
    pinned.put(from, held);
    return held;
  }

  /** How many ranges are pinned. */
  synchronized int count() {
    return pinned.size();
  }
}
