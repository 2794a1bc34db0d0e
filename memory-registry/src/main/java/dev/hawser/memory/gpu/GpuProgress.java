/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * How far a stream has come. It counts into memory of the host, so that asking costs a look there, and no call of the driver
 * but now and then, to hear of a failure. For one thread. What it allocates stays allocated.
 */
public final class GpuProgress {
  private static final VarHandle WORD = JAVA_LONG.varHandle();
  private static final int ASKED_UNTIL_LOOK = 4096;

  private final GpuStream stream;
  private final @Nullable GpuBuffer word; // null: this device cannot, and events take its place
  private final GpuEvent[] events;
  private long marked;
  private long seen;
  private int asked;

  /**
   * Of a stream from here on.
   *
   * @param depth marks that may be open at once
   */
  public GpuProgress(GpuStream stream, int depth) {
    this.stream = stream;
    Gpu gpu = stream.gpu();
    if (gpu.properties().streamValues()) {
      GpuBuffer counted = gpu.allocateHost(Long.BYTES);
      WORD.setRelease(Native.ALL, counted.address(), 0L);
      this.word = counted;
      this.events = new GpuEvent[0];
    } else {
      this.word = null;
      this.events = new GpuEvent[depth];
      for (int i = 0; i < depth; i++) {
        events[i] = gpu.newEvent();
      }
    }
  }

  /** Marks this point of the stream; gives its number, one more than the last. */
  public long mark() {
    GpuBuffer counted = word;
    long number = marked + 1;
    if (counted != null) {
      stream.writeValue(counted.address(), number);
    } else {
      stream.record(events[(int) (number % events.length)]);
    }
    marked = number;
    return number;
  }

  /**
   * Whether the stream has come to a mark. Then what it did before is visible to processors, and to what is launched later.
   *
   * @throws dev.hawser.memory.DriverException what made its work fail
   */
  public boolean isDone(long number) {
    if (number <= seen) {
      return true;
    }
    GpuBuffer counted = word;
    if (counted == null) {
      while (seen < number && events[(int) ((seen + 1) % events.length)].isDone()) {
        seen++;
      }
    } else {
      seen = (long) WORD.getAcquire(Native.ALL, counted.address());
      if (number > seen && ++asked % ASKED_UNTIL_LOOK == 0) {
        look();
      }
    }
    return number <= seen;
  }

  private void look() {
    DriverGate gate = stream.gpu().gate();
    if (gate.tryPass()) {
      try {
        boolean _ = stream.isIdle();
      } finally {
        gate.passed();
      }
    }
  }
}
