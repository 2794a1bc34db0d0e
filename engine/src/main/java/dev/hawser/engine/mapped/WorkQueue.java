/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import org.jspecify.annotations.Nullable;

/**
 * What the initiator posted and could not carry out at once, in the order of posting: requests, of which the first ones may
 * be under way, and records that lie written in the ring but are published only when everything before them is done. Owner thread only.
 */
public final class WorkQueue {
  public static final int CAPACITY = Completions.CAPACITY;
  private static final int MASK = CAPACITY - 1;

  // A record has no plan; its position is where it ends in the ring.
  private final @Nullable TransferPlan[] plans = new @Nullable TransferPlan[CAPACITY];
  private final DataRequest.Op[] ops = new DataRequest.Op[CAPACITY];
  private final long[] workIds = new long[CAPACITY];
  private final long[] positions = new long[CAPACITY];
  private final long[] lengths = new long[CAPACITY];
  private final long[] transfers = new long[CAPACITY];
  private final long[] marks = new long[CAPACITY];
  private final WorkStatus[] statuses = new WorkStatus[CAPACITY];
  private final long[] details = new long[CAPACITY];
  private int head; // the first that has not ended
  private int next; // the first that has not begun, or not wholly
  private int tail;

  public int size() {
    return tail - head;
  }

  public boolean isEmpty() {
    return head == tail;
  }

  public void addData(long workId, long transfer, DataRequest.Op op, TransferPlan plan, long position, long length) {
    int at = tail++ & MASK;
    plans[at] = plan;
    ops[at] = op;
    transfers[at] = transfer;
    workIds[at] = workId;
    positions[at] = position;
    lengths[at] = length;
  }

  public void addRecord(long workId, long end) {
    int at = tail++ & MASK;
    plans[at] = null;
    workIds[at] = workId;
    positions[at] = end;
  }

  /** Whether something has not begun, or not wholly. */
  public boolean isAnyWaiting() {
    return next != tail;
  }

  /** The plan of the next request to begin; null if the next is a record. */
  public @Nullable TransferPlan plan() {
    return plans[next & MASK];
  }

  public DataRequest.Op op() {
    return ops[next & MASK];
  }

  /** The transfer of the next request. */
  public long transfer() {
    return transfers[next & MASK];
  }

  /** Where the rest of the next request begins. */
  public long position() {
    return positions[next & MASK];
  }

  /** What is left of the next request, in bytes. */
  public long length() {
    return lengths[next & MASK];
  }

  /** Some of the next request has begun. */
  public void advance(long bytes) {
    positions[next & MASK] += bytes;
    lengths[next & MASK] -= bytes;
  }

  /**
   * The next one has begun, wholly.
   *
   * @param mark what has to be done before it is
   * @param status how it ends then
   * @param detail of its end, see {@link dev.hawser.engine.spi.ConnectionEvents#completed}
   */
  public void begun(long mark, WorkStatus status, long detail) {
    marks[next & MASK] = mark;
    statuses[next & MASK] = status;
    details[next & MASK] = detail;
    next++;
  }

  /** Whether something has begun and not ended. */
  public boolean isAnyBegun() {
    return head != next;
  }

  /** Whether the first is a record. */
  public boolean isFirstRecord() {
    return plans[head & MASK] == null;
  }

  public long firstWorkId() {
    return workIds[head & MASK];
  }

  /** Where the first, a record, ends in the ring. */
  public long firstPosition() {
    return positions[head & MASK];
  }

  public long firstMark() {
    return marks[head & MASK];
  }

  public WorkStatus firstStatus() {
    return statuses[head & MASK];
  }

  public long firstTransfer() {
    return transfers[head & MASK];
  }

  /** The first has begun well, and ends as lost all the same. */
  public void firstLost(Loss loss) {
    statuses[head & MASK] = loss.status();
    details[head & MASK] = loss.detail();
  }

  public long firstDetail() {
    return details[head & MASK];
  }

  /** The first has ended, or is given up. */
  public void removeFirst() {
    plans[head & MASK] = null;
    if (head == next) {
      next++;
    }
    head++;
  }
}
