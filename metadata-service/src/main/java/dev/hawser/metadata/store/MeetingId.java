/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/**
 * Which meeting.
 *
 * @param name of the communicator, or whatever meets; within the limits of an agent's name
 * @param round of it, from 0: a barrier that is used again is another meeting
 */
public record MeetingId(String name, long round) {
  public MeetingId {
    Envelopes.name(name);
    if (round < 0) {
      throw new InvalidEnvelopeException("round", "is above 2^63-1; count from 0");
    }
  }
}
