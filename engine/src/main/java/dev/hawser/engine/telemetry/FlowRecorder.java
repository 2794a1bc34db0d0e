/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The last completions on one path, in a ring that is written by the path's owner only: a few stores for each, nothing
 * allocated. Any thread may look; what is written meanwhile is looked at again.
 */
public final class FlowRecorder {
  /** Completions of the first kind of window. */
  public static final int WINDOW_COMPLETIONS = 8;

  /** Length of the second kind. */
  public static final long WINDOW_NANOS = 1_000_000;

  private static final int SLOTS = 64;
  private static final int FIELDS = 4;
  private static final int TRIES = 16;
  private static final VarHandle VERSION;
  private static final VarHandle COMPLETIONS;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(FlowRecorder.class, "version", long.class);
      COMPLETIONS = MethodHandles.lookup().findVarHandle(FlowRecorder.class, "completions", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** By completion: when it was, bytes, nanoseconds since its post. */
  private final long[] ring = new long[SLOTS * FIELDS];

  /** By millisecond modulo the slots: which, completions, bytes, latency in all; the longest is apart. */
  private final long[] milliseconds = new long[SLOTS * FIELDS];

  private final long[] longest = new long[SLOTS];
  private long version; // odd while the owner writes
  private long completions;
  private long lastMillisecond = Long.MIN_VALUE;

  /** Of a path that has carried nothing yet. */
  public FlowRecorder() {
    // nothing to do
  }

  /**
   * Owner only: a chunk was acknowledged.
   *
   * @param now nanoseconds, of the clock by which it was posted
   * @param bytes its length
   * @param latencyNanos since its post
   */
  public void completed(long now, long bytes, long latencyNanos) {
    long v = version;
    VERSION.setOpaque(this, v + 1);
    VarHandle.storeStoreFence();
    long present = completions;
    int at = (int) (present % SLOTS) * FIELDS;
    ring[at] = now;
    ring[at + 1] = bytes;
    ring[at + 2] = latencyNanos;
    COMPLETIONS.setRelease(this, present + 1);
    long millisecond = Math.floorDiv(now, WINDOW_NANOS);
    int slot = (int) Math.floorMod(millisecond, (long) SLOTS);
    int base = slot * FIELDS;
    if (millisecond != lastMillisecond) {
      lastMillisecond = millisecond;
      milliseconds[base] = millisecond;
      milliseconds[base + 1] = 0;
      milliseconds[base + 2] = 0;
      milliseconds[base + 3] = 0;
      longest[slot] = 0;
    }
    milliseconds[base + 1]++;
    milliseconds[base + 2] += bytes;
    milliseconds[base + 3] += latencyNanos;
    longest[slot] = Math.max(longest[slot], latencyNanos);
    VERSION.setRelease(this, v + 2);
  }

  /** The last {@value #WINDOW_COMPLETIONS} completions, or those that there were. Any thread. */
  public FlowWindow lastEight() {
    for (int i = 0; i < TRIES; i++) {
      long end = (long) COMPLETIONS.getAcquire(this);
      FlowWindow window = readEight(end);
      VarHandle.loadLoadFence();
      // The owner may be writing one or two more than it has published, over what is a whole ring older.
      if ((long) COMPLETIONS.getOpaque(this) - end < SLOTS - WINDOW_COMPLETIONS - 2) {
        return window;
      }
      Thread.onSpinWait();
    }
    return FlowWindow.EMPTY; // not while anything completes in more than a nanosecond
  }

  private FlowWindow readEight(long end) {
    int n = (int) Math.min(end, WINDOW_COMPLETIONS);
    if (n == 0) {
      return FlowWindow.EMPTY;
    }
    long bytes = 0;
    long sum = 0;
    long max = 0;
    long first = Long.MAX_VALUE;
    for (long i = end - n; i < end; i++) {
      int at = (int) (i % SLOTS) * FIELDS;
      bytes += ring[at + 1];
      sum += ring[at + 2];
      max = Math.max(max, ring[at + 2]);
      first = Math.min(first, ring[at] - ring[at + 2]);
    }
    long last = ring[(int) ((end - 1) % SLOTS) * FIELDS];
    return new FlowWindow(n, bytes, Math.max(1, last - first), sum / n, max);
  }

  /**
   * The last whole millisecond in which anything completed.
   *
   * @param now of the owner's clock
   * @return empty if that was more than a second ago
   */
  public FlowWindow lastMillisecond(long now) {
    for (int i = 0; i < TRIES; i++) {
      long before = (long) VERSION.getAcquire(this);
      FlowWindow window = (before & 1) == 0 ? readMillisecond(now) : FlowWindow.EMPTY;
      VarHandle.loadLoadFence();
      if ((before & 1) == 0 && (long) VERSION.getOpaque(this) == before) {
        return window;
      }
      Thread.onSpinWait();
    }
    return FlowWindow.EMPTY;
  }

  private FlowWindow readMillisecond(long now) {
    long present = Math.floorDiv(now, WINDOW_NANOS);
    long best = Long.MIN_VALUE;
    int found = -1;
    for (int slot = 0; slot < SLOTS; slot++) {
      long millisecond = milliseconds[slot * FIELDS];
      if (milliseconds[slot * FIELDS + 1] > 0 && millisecond < present && millisecond > best) {
        best = millisecond;
        found = slot;
      }
    }
    if (found < 0 || present - best > 1_000) {
      return FlowWindow.EMPTY;
    }
    int base = found * FIELDS;
    int n = (int) milliseconds[base + 1];
    return new FlowWindow(n, milliseconds[base + 2], WINDOW_NANOS, milliseconds[base + 3] / n, longest[found]);
  }
}
