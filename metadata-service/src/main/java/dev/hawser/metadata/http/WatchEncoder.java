/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Event;
import io.vertx.core.buffer.Buffer;
import java.util.EnumMap;
import org.jspecify.annotations.Nullable;

/** Encodes an event once for all watchers of one event loop. */
final class WatchEncoder {
  private static final int SLOTS = 256;

  private final EnumMap<WatchForm, @Nullable Encoded[]> encoded = new EnumMap<>(WatchForm.class);

  private record Encoded(long revision, Buffer bytes) {}

  Buffer encode(WatchForm form, Event event) {
    @Nullable
    Encoded[] slots = encoded.computeIfAbsent(form, first -> new Encoded[SLOTS]);
    int slot = (int) (event.revision() & (SLOTS - 1));
    Encoded kept = slots[slot];
    if (kept == null || kept.revision() != event.revision()) {
      kept = new Encoded(event.revision(), form.event(event));
      slots[slot] = kept;
    }
    return kept.bytes();
  }
}
