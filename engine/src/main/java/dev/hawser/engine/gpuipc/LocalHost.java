/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.Registration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Registered host memory of this process. It is pinned when a copy needs it first, for that starts a device, takes time, and
 * is of no use to most. Thread-safe.
 */
final class LocalHost {
  private final long address;
  private final long length;
  private @Nullable CompletableFuture<HostReach> reach; // guarded by this
  private boolean ended; // guarded by this

  LocalHost(Registration registration) {
    this.address = registration.address();
    this.length = registration.length();
  }

  /** How to reach it; pins it in the background on the first call. */
  synchronized CompletableFuture<HostReach> reach(GpuIpc gpus) {
    CompletableFuture<HostReach> known = reach;
    if (known == null) {
      known = ended
          ? CompletableFuture.completedFuture(HostReach.UNPINNED)
          : gpus.inBackground(() -> HostReach.pin(gpus, address, length));
      reach = known;
    }
    return known;
  }

  /** Unpins it: no copy uses it any more. */
  void end() {
    CompletableFuture<HostReach> known;
    synchronized (this) {
      ended = true;
      known = reach;
    }
    if (known == null) {
      return;
    }
    HostReach held;
    try {
      held = known.join();
    } catch (CompletionException e) {
      return; // it was never pinned
    }
    held.release();
  }
}
