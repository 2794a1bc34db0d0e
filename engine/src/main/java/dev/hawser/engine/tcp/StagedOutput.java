/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.staging.StagingRing;
import org.jspecify.annotations.Nullable;

/**
 * Slots in the send queue that a device still fills: nothing is sent from the first such slot on. Given back when they have
 * been sent. Owner thread only; allocates nothing.
 */
final class StagedOutput {
  private static final int MOST = 256;

  private final long[] places = new long[MOST];
  private final long[] ends = new long[MOST];
  private final @Nullable StagingRing[] rings = new @Nullable StagingRing[MOST];
  private final int[] slots = new int[MOST];
  private long head; // the first that was not given back
  private long open; // the first that is being filled
  private long tail;

  private static int at(long index) {
    return (int) (index & (MOST - 1));
  }

  boolean hasRoom() {
    return tail - head < MOST;
  }

  /** The slot was appended as the last place of the queue. */
  void add(SendQueue out, StagingRing ring, int slot) {
    places[at(tail)] = out.tail() - 1;
    ends[at(tail)] = out.tail();
    rings[at(tail)] = ring;
    slots[at(tail)] = slot;
    tail++;
    if (open == tail - 1) {
      out.holdFrom(places[at(open)]); // the others are held already
    }
  }

  /**
   * Lets out what has been filled.
   *
   * @throws dev.hawser.memory.DriverException what kept a device from filling a slot
   */
  void open(SendQueue out) {
    while (open != tail && ring(open).isDone(slots[at(open)])) {
      open++;
    }
    if (open == tail) {
      out.openAll();
    } else {
      out.holdFrom(places[at(open)]);
    }
  }

  /** Gives back what has been sent. */
  void release(SendQueue out) {
    while (head != open && out.sentUpTo(ends[at(head)])) {
      ring(head).give(slots[at(head)]);
      rings[at(head)] = null;
      head++;
    }
  }

  private StagingRing ring(long index) {
    StagingRing ring = rings[at(index)];
    if (ring == null) {
      throw new IllegalStateException("slot " + index + " was given back");
    }
    return ring;
  }
}
