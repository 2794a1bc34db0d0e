/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.WorkStatus;

/**
 * Records that lie in the ring and count as received only when the peer has processed them: a process that was killed reads
 * no ring. Owner thread only.
 */
public final class Unread {
  private static final int CAPACITY = Completions.CAPACITY;
  private static final int MASK = CAPACITY - 1;

  private final Completions completions;
  private final RecordWriter writer;
  private final long[] workIds = new long[CAPACITY];
  private final long[] ends = new long[CAPACITY];
  private int head;
  private int tail;

  public Unread(Completions completions, RecordWriter writer) {
    this.completions = completions;
    this.writer = writer;
  }

  public int size() {
    return tail - head;
  }

  public boolean isEmpty() {
    return head == tail;
  }

  /**
   * Adds one; whoever posts has made sure of the room.
   *
   * @param end where it ends in the ring
   */
  public void add(long workId, long end) {
    workIds[tail & MASK] = workId;
    ends[tail & MASK] = end;
    tail++;
  }

  /** Whether {@link #complete} would do something. */
  public boolean isSomeRead() {
    return head != tail && ends[head & MASK] - writer.readHead() <= 0;
  }

  /** Completes those that the peer has processed; returns how many. */
  public int complete() {
    if (head == tail) {
      return 0;
    }
    long read = writer.readHead();
    int done = 0;
    while (head != tail && ends[head & MASK] - read <= 0) {
      completions.add(workIds[head++ & MASK], WorkStatus.SUCCESS);
      done++;
    }
    return done;
  }

  /** Gives up those that the peer has not processed. */
  public void flush() {
    complete();
    while (head != tail) {
      completions.add(workIds[head++ & MASK], WorkStatus.FLUSHED);
    }
  }
}
