/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.WorkStatus;
import org.jspecify.annotations.Nullable;

/**
 * What was posted and has not been reported as ended, in the order of posting, which is also the order of the reports. A
 * sequence number is a slot. Owner thread only; allocates nothing.
 */
final class Outstanding {
  static final int SLOTS = 1024;

  /** Data requests at once; what is left of the slots is for messages. */
  static final int DATA_SLOTS = 512;

  /** What was posted. */
  enum Kind {
    DATA, READ, MESSAGE
  }

  private final long[] workIds = new long[SLOTS];
  private final Kind[] kinds = new Kind[SLOTS];
  private final @Nullable WorkStatus[] statuses = new @Nullable WorkStatus[SLOTS]; // null: not ended
  private final long[] details = new long[SLOTS];
  private final long[] begins = new long[SLOTS]; // of data: the place in the send queue that its header is in
  private final long[] ends = new long[SLOTS]; // of data: the place in the send queue behind its last
  private final long[] headers = new long[SLOTS]; // of data that can be withdrawn: where its header is; or 0
  private long head = 1; // oldest
  private long tail = 1; // next
  private long acknowledged; // highest
  private int data;

  boolean isEmpty() {
    return head == tail;
  }

  int size() {
    return (int) (tail - head);
  }

  boolean hasMessageSlot() {
    return tail - head < SLOTS;
  }

  /** True if a data request fits, and behind it one message more than those that are always kept back. */
  boolean hasDataSlot() {
    return data < DATA_SLOTS && tail - head < SLOTS - Connection.RESERVED_MESSAGES - 1;
  }

  /**
   * Takes the next sequence number.
   *
   * @param status how it ended already, null if it did not
   */
  long post(long workId, Kind kind, @Nullable WorkStatus status) {
    int slot = slot(tail);
    workIds[slot] = workId;
    kinds[slot] = kind;
    statuses[slot] = status;
    details[slot] = 0;
    headers[slot] = 0;
    if (kind != Kind.MESSAGE) {
      data++;
    }
    return tail++;
  }

  /** True if it was posted and has not ended. */
  boolean isPending(long sequence) {
    return sequence - head >= 0 && sequence - tail < 0 && statuses[slot(sequence)] == null;
  }

  Kind kind(long sequence) {
    return kinds[slot(sequence)];
  }

  void end(long sequence, WorkStatus status, long detail) {
    statuses[slot(sequence)] = status;
    details[slot(sequence)] = detail;
  }

  /** Where in the send queue the header and the bytes of a data request are. */
  void queued(long sequence, long begin, long end) {
    begins[slot(sequence)] = begin;
    ends[slot(sequence)] = end;
  }

  /** The data request can be withdrawn as long as its header has not left. */
  void mayBeWithdrawn(long sequence, long header) {
    headers[slot(sequence)] = header;
  }

  /** Takes the data requests of a transfer, of which nothing has left, out of the send queue; each is sent empty. */
  void withdraw(long transfer, SendQueue out) {
    // What was posted last left least: from there up to the first that has begun.
    for (long each = tail - 1; each - head >= 0; each--) {
      int slot = slot(each);
      if (statuses[slot] != null || headers[slot] == 0) {
        continue;
      }
      if (!out.isWaiting(begins[slot], headers[slot])) {
        return;
      }
      if (FrameLayout.transfer(headers[slot]) == transfer) {
        out.drop(begins[slot], ends[slot], FrameLayout.segments(headers[slot]) * FrameLayout.SEGMENT_BYTES);
        FrameLayout.empty(headers[slot]);
        headers[slot] = 0;
        end(each, WorkStatus.WITHDRAWN, 0);
      }
    }
  }

  /** Ends the data request that a place in the send queue belongs to, which has not been sent. */
  void endAt(long place, WorkStatus status, long detail) {
    for (long each = head; each - tail < 0; each++) {
      int slot = slot(each);
      if (statuses[slot] == null && kinds[slot] == Kind.DATA && ends[slot] - place > 0) {
        end(each, status, detail);
        return;
      }
    }
  }

  /**
   * The peer has processed everything up to {@code sequence}; a READ ends by its data all the same.
   *
   * @return false if that was never posted, or if it goes backwards
   */
  boolean acknowledge(long sequence) {
    if (sequence - tail >= 0 || sequence - acknowledged <= 0) {
      return false;
    }
    for (long each = Math.max(acknowledged + 1, head); each <= sequence; each++) {
      int slot = slot(each);
      if (statuses[slot] == null && kinds[slot] != Kind.READ) {
        statuses[slot] = WorkStatus.SUCCESS;
      }
    }
    acknowledged = sequence;
    return true;
  }

  /** True if {@link #report} has something to report. */
  boolean hasEnded() {
    return head != tail && statuses[slot(head)] != null;
  }

  /**
   * Reports what has ended, in order.
   *
   * @param give up: what has not ended is reported as flushed
   * @param most how many at most
   * @return how many
   */
  int report(Connection connection, ConnectionEvents events, boolean give, int most) {
    int reported = 0;
    while (head != tail && reported < most) {
      int slot = slot(head);
      WorkStatus status = statuses[slot];
      if (status == null) {
        if (!give) {
          break;
        }
        status = WorkStatus.FLUSHED;
      }
      boolean wanted = workIds[slot] != 0 || kinds[slot] != Kind.MESSAGE;
      if (kinds[slot] != Kind.MESSAGE) {
        data--;
      }
      head++;
      reported++;
      if (wanted) {
        events.completed(connection, workIds[slot], status, details[slot]);
      }
    }
    return reported;
  }

  private static int slot(long sequence) {
    return (int) (sequence & (SLOTS - 1));
  }
}
