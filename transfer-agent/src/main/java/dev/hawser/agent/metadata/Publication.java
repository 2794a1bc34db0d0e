/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * What is published.
 *
 * @param name the agent's name
 * @param epoch its incarnation
 * @param ttl how long the entry stands without a renewal
 * @param address its control address, {@code host:port}; may be empty
 * @param labels for selecting agents
 * @param summary one JSON object on one line, or empty
 * @param expectedEpoch the recorded epoch that is to be replaced, 0 for no entry; empty: do not check
 * @param blob the agent's metadata
 */
@SuppressWarnings("ArrayRecordComponent") // the blob is bytes; publications are never compared
public record Publication(String name, long epoch, Duration ttl, String address, Map<String, String> labels,
    String summary, OptionalLong expectedEpoch, byte[] blob) {
  public Publication {
    Objects.requireNonNull(name, "name");
    labels = Map.copyOf(labels);
  }
}
