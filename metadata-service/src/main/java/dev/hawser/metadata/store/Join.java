/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import io.vertx.core.buffer.Buffer;

/**
 * A member's wish to be one of a meeting.
 *
 * @param id which meeting
 * @param size members that it waits for
 * @param rank of this member, from 0
 * @param member who it is, to tell a repetition from a rival
 * @param data for the others, opaque; the same in every repetition
 * @param ttlMillis how long it counts as a member from now on, milliseconds
 */
public record Join(MeetingId id, int size, int rank, String member, Buffer data, long ttlMillis) {
  /** Members of one meeting. */
  public static final int MAX_SIZE = 4096;

  /** Bytes of one member's data. */
  public static final int MAX_DATA = 4096;

  public Join {
    if (size < 1 || size > MAX_SIZE) {
      throw new InvalidEnvelopeException("size", "is " + size + "; give 1 to " + MAX_SIZE);
    }
    if (rank < 0 || rank >= size) {
      throw new InvalidEnvelopeException("rank", "is " + rank + "; give 0 to " + (size - 1));
    }
    Envelopes.name(member);
    if (data.length() > MAX_DATA) {
      throw new InvalidEnvelopeException("data",
          "has " + data.length() + " bytes; at most " + MAX_DATA + " are allowed");
    }
  }
}
