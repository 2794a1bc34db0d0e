/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Fills the page tables of new mappings while nothing waits for them yet, on a thread that lives as long as there is
 * something to fill. It goes from the end of a mapping to its beginning, so that it meets a first transfer that comes at once
 * instead of running ahead of it, page by page. Thread-safe.
 */
public final class Populator {
  /** Some 8 GiB of small pages; of huge ones, all that there are. The rest is left to the copies. */
  private static final long MOST_NANOS = 2_000_000_000L;

  private final Queue<PeerMapping> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean running = new AtomicBoolean();

  /** Fills it some time, unless it is unmapped before. */
  public void add(PeerMapping mapping) {
    waiting.add(mapping);
    if (running.compareAndSet(false, true)) {
      Thread.ofPlatform().name("hawser-shm-populate").daemon().start(this::run);
    }
  }

  private void run() {
    do {
      for (PeerMapping next = waiting.poll(); next != null; next = waiting.poll()) {
        next.populateAll(MOST_NANOS);
      }
      running.set(false);
      // Whoever added something before this saw us running.
    } while (!waiting.isEmpty() && running.compareAndSet(false, true));
  }
}
