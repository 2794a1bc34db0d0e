/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.WorkStatus;

/**
 * What this side owes the other: one cumulative ACK, and a NACK for each request that it refused, before the ACK that
 * covers it. Owner thread only; allocates nothing.
 */
final class Answers {
  private static final int NACKS = Outstanding.SLOTS;

  private final long[] refused = new long[NACKS];
  private final int[] codes = new int[NACKS];
  private final int[] regions = new int[NACKS];
  private int first;
  private int count;
  private long processed;
  private long said;

  /** Highest sequence number that has been processed. */
  long processed() {
    return processed;
  }

  void processed(long sequence) {
    processed = sequence;
  }

  /** True if a refusal has not been queued. */
  boolean hasRefusals() {
    return count > 0;
  }

  /** True if nothing more can be refused: nothing more is read until a NACK has left. */
  boolean isFull() {
    return count == NACKS;
  }

  /**
   * Refuses a request.
   *
   * @param region the one whose memory is not there, with {@link WorkStatus#REMOTE_UNMAPPED}; else 0
   */
  void refuse(long sequence, WorkStatus status, int region) {
    int slot = (first + count) & (NACKS - 1);
    refused[slot] = sequence;
    codes[slot] = code(status);
    regions[slot] = region;
    count++;
  }

  boolean isPending() {
    return count > 0 || said != processed;
  }

  /** Queues as much as there is room for. */
  void queue(SendQueue out) {
    while (count > 0 && fits(out)) {
      append(out, FrameLayout.NACK, codes[first], regions[first], refused[first]);
      first = (first + 1) & (NACKS - 1);
      count--;
    }
    if (count == 0 && said != processed && fits(out)) {
      append(out, FrameLayout.ACK, 0, 0, processed);
      said = processed;
    }
  }

  private static boolean fits(SendQueue out) {
    return out.freePlaces() > 0 && out.freeControl() >= FrameLayout.HEADER_BYTES;
  }

  private static void append(SendQueue out, int type, int flags, int region, long sequence) {
    long at = out.control(FrameLayout.HEADER_BYTES);
    FrameLayout.writeHeader(at, type, flags, 0, region, sequence, 0, 0);
    out.append(at, FrameLayout.HEADER_BYTES);
  }

  static int code(WorkStatus status) {
    return switch (status) {
      case REMOTE_ACCESS -> 1;
      case REMOTE_REGION_CLOSED -> 2;
      case REMOTE_UNMAPPED -> 3;
      case WITHDRAWN -> 4;
      case SUCCESS, FLUSHED, LOCAL_ACCESS, LOCAL_UNMAPPED ->
        throw new IllegalArgumentException(status + " is no refusal");
    };
  }

  /** The status of a NACK's code; {@link WorkStatus#SUCCESS} if there is no such code. */
  static WorkStatus status(int code) {
    return switch (code) {
      case 1 -> WorkStatus.REMOTE_ACCESS;
      case 2 -> WorkStatus.REMOTE_REGION_CLOSED;
      case 3 -> WorkStatus.REMOTE_UNMAPPED;
      case 4 -> WorkStatus.WITHDRAWN;
      default -> WorkStatus.SUCCESS;
    };
  }
}
