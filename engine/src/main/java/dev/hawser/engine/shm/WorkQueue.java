/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.TransferPlan;
import org.jspecify.annotations.Nullable;

/**
 * What the initiator posted and could not carry out at once, in the order of posting: requests, and records that lie
 * written in the ring but are published only when everything before them is done. Owner thread only.
 */
final class WorkQueue {
  static final int CAPACITY = Completions.CAPACITY;
  private static final int MASK = CAPACITY - 1;

  // A record has no plan; its position is where it ends in the ring.
  private final @Nullable TransferPlan[] plans = new @Nullable TransferPlan[CAPACITY];
  private final DataRequest.Op[] ops = new DataRequest.Op[CAPACITY];
  private final long[] workIds = new long[CAPACITY];
  private final long[] positions = new long[CAPACITY];
  private final long[] lengths = new long[CAPACITY];
  private final long[] transfers = new long[CAPACITY];
  private int head;
  private int tail;

  int size() {
    return tail - head;
  }

  boolean isEmpty() {
    return head == tail;
  }

  void addData(long workId, long transfer, DataRequest.Op op, TransferPlan plan, long position, long length) {
    int at = tail++ & MASK;
    plans[at] = plan;
    ops[at] = op;
    transfers[at] = transfer;
    workIds[at] = workId;
    positions[at] = position;
    lengths[at] = length;
  }

  void addRecord(long workId, long end) {
    int at = tail++ & MASK;
    plans[at] = null;
    workIds[at] = workId;
    positions[at] = end;
  }

  /** The plan of the first request; null if the first is a record. */
  @Nullable
  TransferPlan plan() {
    return plans[head & MASK];
  }

  DataRequest.Op op() {
    return ops[head & MASK];
  }

  /** The transfer of the first request. */
  long transfer() {
    return transfers[head & MASK];
  }

  long workId() {
    return workIds[head & MASK];
  }

  /** Where the rest of the first request begins, or where the first record ends in the ring. */
  long position() {
    return positions[head & MASK];
  }

  /** What is left of the first request, in bytes. */
  long length() {
    return lengths[head & MASK];
  }

  /** Some of the first request is done. */
  void advance(long bytes) {
    positions[head & MASK] += bytes;
    lengths[head & MASK] -= bytes;
  }

  void remove() {
    plans[head & MASK] = null;
    head++;
  }
}
