/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The last events, in the order of their revisions. Watchers are cursors into it: a slow one costs no memory, and one
 * that falls behind the oldest event is told that it has lost some.
 *
 * <p>Safe for use by any thread.
 */
public final class EventLog {
  /** In place of a cursor: what followed the given revision is not, or no longer, known here. */
  public static final long LOST = -1;

  private final ReentrantLock lock = new ReentrantLock();
  private final @Nullable Event[] ring;
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

  /** Events ever appended: the cursor of the next one. */
  private long end;

  /** Everything after this revision is in the ring. */
  private long floor;

  private long lastRevision;

  /** Events in the ring, the newest ones. */
  private int held;

  /**
   * @param capacity events kept
   * @param revision nothing is known of what happened up to this one
   */
  public EventLog(int capacity, long revision) {
    ring = new Event[capacity];
    floor = revision;
    lastRevision = revision;
  }

  /**
   * What a watcher reads at once.
   *
   * @param events in order; empty when there is nothing new
   * @param next the cursor to read on from, or {@link #LOST}
   */
  public record Batch(List<Event> events, long next) {}

  /** The place where a watch begins. */
  public record Start(long cursor, long revision) {}

  /** Adds the newest event. Its revision is not below the last one. */
  public void append(Event event) {
    lock.lock();
    try {
      if (event.revision() < lastRevision) {
        throw new IllegalArgumentException(
            "revision " + event.revision() + " is below " + lastRevision + "; a store numbers its events upwards");
      }
      if (held == ring.length) {
        floor = at(first()).revision();
        held--;
      }
      ring[(int) (end % ring.length)] = event;
      end++;
      held++;
      lastRevision = event.revision();
    } finally {
      lock.unlock();
    }
    for (Runnable listener : listeners) {
      listener.run();
    }
  }

  /**
   * Forgets everything: events up to the given revision were missed, and watchers have to list again.
   *
   * @param revision not below the last one
   */
  public void forget(long revision) {
    lock.lock();
    try {
      Arrays.fill(ring, null);
      held = 0;
      // Not even a cursor at the present may read over the gap.
      end++;
      floor = revision;
      lastRevision = Math.max(lastRevision, revision);
    } finally {
      lock.unlock();
    }
    for (Runnable listener : listeners) {
      listener.run();
    }
  }

  /** Revision of the newest event. */
  public long lastRevision() {
    lock.lock();
    try {
      return lastRevision;
    } finally {
      lock.unlock();
    }
  }

  /** The present: a watch that begins here sees what happens from now on. */
  public Start present() {
    lock.lock();
    try {
      return new Start(end, lastRevision);
    } finally {
      lock.unlock();
    }
  }

  /**
   * The cursor of the first event after {@code revision}, or {@link #LOST}. Beyond the last event it is that of the next
   * one, for the log may lag behind its store: whoever asks has to pass over events up to the revision.
   */
  public long after(long revision) {
    lock.lock();
    try {
      if (revision < floor) {
        return LOST;
      }
      long low = first();
      long high = end;
      while (low < high) {
        long middle = (low + high) >>> 1;
        if (at(middle).revision() <= revision) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    } finally {
      lock.unlock();
    }
  }

  /** At most {@code max} events from {@code cursor} on. */
  public Batch read(long cursor, int max) {
    lock.lock();
    try {
      if (cursor < first()) {
        return new Batch(List.of(), LOST);
      }
      int count = (int) Math.min(max, end - cursor);
      if (count <= 0) {
        return new Batch(List.of(), cursor);
      }
      List<Event> events = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        events.add(at(cursor + i));
      }
      return new Batch(events, cursor + count);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has {@code listener} run after each append, on the thread that appends.
   *
   * @param listener must be quick and must not call the store
   * @return ends it
   */
  public Runnable listen(Runnable listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Cursor of the oldest event in the ring; {@code end} when there is none. */
  private long first() {
    return end - held;
  }

  private Event at(long cursor) {
    return Objects.requireNonNull(ring[(int) (cursor % ring.length)]);
  }
}
