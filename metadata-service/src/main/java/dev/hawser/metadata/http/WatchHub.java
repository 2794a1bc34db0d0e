/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.EventLog;
import io.vertx.core.Context;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/** The watches of one event loop. Everything but {@link #wake} on that loop. */
final class WatchHub {
  private final Context context;
  private final AtomicBoolean awake = new AtomicBoolean();
  private final Set<Watch> watches = new LinkedHashSet<>();
  private final Runnable stopListening;

  WatchHub(Context context, EventLog log) {
    this.context = context;
    this.stopListening = log.listen(this::wake);
  }

  /** After an event, on any thread: however many come before the loop gets to it, it runs once. */
  private void wake() {
    if (awake.compareAndSet(false, true)) {
      context.runOnContext(
          run -> {
            awake.set(false);
            List.copyOf(watches).forEach(Watch::pump);
          });
    }
  }

  void add(Watch watch) {
    watches.add(watch);
  }

  void remove(Watch watch) {
    watches.remove(watch);
  }

  void keepAlive() {
    List.copyOf(watches).forEach(Watch::keepAlive);
  }

  void close() {
    stopListening.run();
    List.copyOf(watches).forEach(Watch::sayGoodbye);
    watches.clear();
  }
}
