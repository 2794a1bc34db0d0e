/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import org.jspecify.annotations.Nullable;

/**
 * One chunk to post: reused by its owner for every chunk, read by the transport during {@link
 * Connection#postData} only.
 */
public final class DataRequest {

  /** The direction, seen from the initiator. */
  public enum Op {
    /** Initiator's memory to target's. */
    WRITE,
    /** Target's memory to initiator's. */
    READ
  }

  private Op op = Op.WRITE;
  private long transfer;
  private int chunk;
  private @Nullable TransferPlan plan;
  private long position;
  private long length;

  /** An empty request; {@link #set} before use. */
  public DataRequest() {}

  /**
   * Describes the chunk.
   *
   * @param chunk its number within the transfer, for traces; not unique over replays
   * @param position where it begins in the transfer's linear byte space
   * @param length bytes; ends at most at the plan's total
   */
  public DataRequest set(
      Op op, long transfer, int chunk, TransferPlan plan, long position, long length) {
    this.op = op;
    this.transfer = transfer;
    this.chunk = chunk;
    this.plan = plan;
    this.position = position;
    this.length = length;
    return this;
  }

  public Op op() {
    return op;
  }

  public long transfer() {
    return transfer;
  }

  public int chunk() {
    return chunk;
  }

  public TransferPlan plan() {
    TransferPlan p = plan;
    if (p == null) {
      throw new IllegalStateException("DataRequest used before set()");
    }
    return p;
  }

  public long position() {
    return position;
  }

  public long length() {
    return length;
  }
}
