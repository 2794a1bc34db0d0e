/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.MeetingId;
import dev.hawser.metadata.store.Meetings;
import io.vertx.core.Context;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Those who wait at one event loop for a meeting to be complete. On that loop only. */
final class MeetingHub {
  private final Map<MeetingId, Set<Runnable>> waiting = new HashMap<>();
  private final Runnable stopListening;
  private boolean closing;

  MeetingHub(Context context, Meetings meetings) {
    stopListening = meetings.listen(id -> context.runOnContext(run -> wake(id)));
  }

  /**
   * Has {@code look} run whenever somebody joins.
   *
   * @return ends it
   */
  Runnable wait(MeetingId id, Runnable look) {
    waiting.computeIfAbsent(id, first -> new LinkedHashSet<>()).add(look);
    return () -> {
      Set<Runnable> others = waiting.get(id);
      if (others != null && others.remove(look) && others.isEmpty()) {
        waiting.remove(id);
      }
    };
  }

  private void wake(MeetingId id) {
    Set<Runnable> all = waiting.get(id);
    if (all != null) {
      List.copyOf(all).forEach(Runnable::run);
    }
  }

  /** Whether those who wait should go elsewhere. */
  boolean isClosing() {
    return closing;
  }

  void close() {
    closing = true;
    stopListening.run();
    for (Set<Runnable> all : List.copyOf(waiting.values())) {
      List.copyOf(all).forEach(Runnable::run);
    }
  }
}
