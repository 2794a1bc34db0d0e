/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/**
 * What bounds a store's memory.
 *
 * @param maxAgents entries
 * @param maxBytes blobs and envelopes together, bytes
 * @param historyEvents events that a watch can resume over
 */
public record StoreLimits(int maxAgents, long maxBytes, int historyEvents) {
  public static final StoreLimits DEFAULT = new StoreLimits(100_000, 1L << 30, 16_384);

  public StoreLimits {
    if (maxAgents < 1 || maxBytes < 1 || historyEvents < 1) {
      throw new IllegalArgumentException(
          "the limits of the store (agents %d, bytes %d, history %d) must be at least 1"
              .formatted(maxAgents, maxBytes, historyEvents));
    }
  }
}
