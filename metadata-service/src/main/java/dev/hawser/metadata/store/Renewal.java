/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import org.jspecify.annotations.Nullable;

/**
 * A sign of life.
 *
 * @param name of the agent
 * @param epoch its incarnation
 * @param ttlMillis the new time to live, milliseconds, or 0 to keep what was published
 * @param summary the new summary, or null to keep the old one
 */
public record Renewal(String name, long epoch, long ttlMillis, @Nullable String summary) {
  public Renewal {
    Envelopes.name(name);
    Envelopes.epoch(epoch);
    if (ttlMillis != 0) {
      Envelopes.ttlMillis(ttlMillis);
    }
  }
}
