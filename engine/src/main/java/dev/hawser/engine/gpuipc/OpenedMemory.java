/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.IpcHandle;
import dev.hawser.memory.gpu.IpcMemory;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The allocations of other processes that are open here: each once for each device of ours, however many regions and paths
 * use it, and closed when the last of them lets go. Thread-safe.
 */
final class OpenedMemory {
  /**
   * Whose, and for which device.
   *
   * @param pid of the owner
   * @param startTicks when the owner began, for pids are used again
   */
  record Name(int pid, long startTicks, IpcHandle handle, int ordinal) {}

  /** An open allocation, held by those who use it. */
  final class Held {
    private final Name name;
    private @Nullable IpcMemory memory; // guarded by this
    private int holders; // guarded by OpenedMemory.this

    private Held(Name name) {
      this.name = name;
    }

    /** Where its first byte is in this process. */
    synchronized long address() {
      return Objects.requireNonNull(memory, "opened by the first hold").address();
    }

    private synchronized void open(Gpu gpu) {
      if (memory == null) {
        memory = gpu.open(name.handle());
      }
    }

    private synchronized void close() {
      if (memory != null) {
        memory.close();
      }
    }

    /** Lets go; the last one closes it, which may take time. */
    void release() {
      if (drop(this)) {
        close();
      }
    }
  }

  // Calls of the driver are made outside the lock: one that blocks holds up only those who want the same allocation.
  private final Map<Name, Held> open = new HashMap<>(); // guarded by this

  /**
   * Opens an allocation, or shares it; may take milliseconds.
   *
   * @throws dev.hawser.memory.DriverException if the driver refuses
   */
  Held hold(Gpu gpu, Name name) {
    Held held = share(name);
    boolean opened = false;
    try {
      held.open(gpu);
      opened = true;
      return held;
    } finally {
      if (!opened) {
        drop(held);
      }
    }
  }

  private synchronized Held share(Name name) {
    Held held = open.computeIfAbsent(name, Held::new);
    held.holders++;
    return held;
  }

  /** One holder less; true for the last. Whoever wants it while it is being closed opens it anew: the driver counts. */
  private synchronized boolean drop(Held held) {
    held.holders--;
    return held.holders == 0 && open.remove(held.name, held);
  }

  /** How many are open. */
  synchronized int count() {
    return open.size();
  }
}
