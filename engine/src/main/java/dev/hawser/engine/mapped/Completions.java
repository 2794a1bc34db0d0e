/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.WorkStatus;

/** Ends of posted work, kept until the owner polls. Owner thread only. */
public final class Completions {
  public static final int CAPACITY = 1024;
  private static final int MASK = CAPACITY - 1;

  private final long[] workIds = new long[CAPACITY];
  private final WorkStatus[] statuses = new WorkStatus[CAPACITY];
  private final long[] details = new long[CAPACITY];
  private int head;
  private int tail;

  public int size() {
    return tail - head;
  }

  public boolean isEmpty() {
    return head == tail;
  }

  /** Adds one of which all is said; whoever posts has made sure of the room. */
  public void add(long workId, WorkStatus status) {
    add(workId, status, 0);
  }

  /** Adds one; whoever posts has made sure of the room. */
  public void add(long workId, WorkStatus status, long detail) {
    if (size() == CAPACITY) {
      throw new IllegalStateException("more than " + CAPACITY + " completions were not polled");
    }
    workIds[tail & MASK] = workId;
    statuses[tail & MASK] = status;
    details[tail & MASK] = detail;
    tail++;
  }

  /** Reports at most {@code limit} of them; returns how many. */
  public int deliver(Connection connection, ConnectionEvents events, int limit) {
    int delivered = 0;
    while (head != tail && delivered < limit) {
      int at = head++ & MASK;
      delivered++;
      events.completed(connection, workIds[at], statuses[at], details[at]);
    }
    return delivered;
  }
}
