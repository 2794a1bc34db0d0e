/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Event;
import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Selector;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * One watcher: a cursor into the log, and a connection. It writes while the connection takes more and otherwise keeps
 * nothing, so that a slow watcher costs no memory. On its event loop only.
 */
final class Watch {
  private static final int AT_ONCE = 64;

  /** Keep-alives that may find the connection full before the watcher is given up. */
  private static final int PATIENCE = 3;

  private final EventLog log;
  private final Selector selector;
  private final WatchForm form;
  private final WatchSink sink;
  private final WatchEncoder encoder;
  private final LongAdder resets;
  private long cursor;

  /** Events up to this revision are no news. */
  private long seen;

  private int stalled;
  private boolean ended;

  Watch(EventLog log, Selector selector, WatchForm form, WatchSink sink, WatchEncoder encoder, LongAdder resets) {
    this.log = log;
    this.selector = selector;
    this.form = form;
    this.sink = sink;
    this.encoder = encoder;
    this.resets = resets;
  }

  /** Begins now. */
  void begin() {
    EventLog.Start present = log.present();
    cursor = present.cursor();
    sink.write(List.of(form.control("ready", present.revision())));
  }

  /** Begins after a revision that the watcher has seen. */
  void resume(long revision) {
    seen = revision;
    cursor = log.after(revision);
    if (cursor != EventLog.LOST) {
      sink.write(List.of(form.control("ready", revision)));
    }
    pump();
  }

  /** Begins now, for a watcher that has seen revisions of another store, or of another life of this one. */
  void beginAnew() {
    cursor = EventLog.LOST;
    pump();
  }

  /** Writes what there is, as far as the connection takes it. */
  void pump() {
    while (!ended && !sink.isFull()) {
      EventLog.Batch batch = cursor == EventLog.LOST ? null : log.read(cursor, AT_ONCE);
      if (batch == null || batch.next() == EventLog.LOST) {
        EventLog.Start present = log.present();
        cursor = present.cursor();
        seen = 0;
        resets.increment();
        sink.write(List.of(form.control("reset", present.revision())));
        continue;
      }
      if (batch.events().isEmpty()) {
        return;
      }
      cursor = batch.next();
      write(batch);
    }
  }

  private void write(EventLog.Batch batch) {
    List<Buffer> encoded = new ArrayList<>(batch.events().size());
    for (Event event : batch.events()) {
      if (event.revision() > seen && selector.accepts(event.name(), event.labels())) {
        encoded.add(encoder.encode(form, event));
      }
    }
    if (!encoded.isEmpty()) {
      sink.write(encoded);
    }
  }

  void keepAlive() {
    if (ended) {
      return;
    }
    if (!sink.isFull()) {
      stalled = 0;
      sink.writeKeepalive();
    } else if (++stalled == PATIENCE) {
      // Its close handler does the rest.
      sink.abort();
    }
  }

  /** Tells the watcher to go elsewhere. */
  void sayGoodbye() {
    if (!ended) {
      sink.write(List.of(form.control("bye", log.lastRevision())));
      sink.end();
    }
  }

  /** Whether it was open. */
  boolean close() {
    boolean wasOpen = !ended;
    ended = true;
    return wasOpen;
  }
}
