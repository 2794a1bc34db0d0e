/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.gpu.GpuTimeline;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What one transfer comes before and after on streams of the user. Set while it is not under way. */
final class StreamOrder {
  private final BooleanSupplier reached = this::isReached;
  private @Nullable GpuTimeline after;
  private @Nullable GpuTimeline before;
  private volatile long mark;
  private volatile long hold;

  void after(@Nullable GpuTimeline timeline) {
    after = timeline;
  }

  void before(@Nullable GpuTimeline timeline) {
    before = timeline;
  }

  /** What the post waits for; null for nothing. */
  @Nullable
  BooleanSupplier condition() {
    return after == null ? null : reached;
  }

  private boolean isReached() {
    GpuTimeline timeline = after;
    return timeline == null || timeline.isReached(mark);
  }

  /** Whether there is anything to order. */
  boolean isSet() {
    return after != null || before != null;
  }

  /** The transfer is about to be posted; it is not under way. */
  void begin() {
    GpuTimeline earlier = after;
    if (earlier != null) {
      mark = earlier.mark();
    }
    GpuTimeline later = before;
    if (later != null) {
      while (hold != 0) {
        Thread.onSpinWait(); // the last post has ended, and its end is being told
      }
      hold = later.hold();
    }
  }

  /** It has ended, or could not be posted: the stream goes on in any case. */
  void end(boolean failed) {
    GpuTimeline later = before;
    if (later != null && hold != 0) {
      later.release(hold, failed);
      hold = 0;
    }
  }
}
