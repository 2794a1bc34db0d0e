/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.PathKey;
import java.util.Objects;

/**
 * What an initiator says when it opens a path generation.
 *
 * @param initiator the initiator's agent name
 * @param initiatorEpoch its epoch
 * @param target the agent that it wants to reach
 * @param targetEpoch the epoch from the target's metadata; 0 for any
 * @param session the link session that the path joins; 0 asks for a new one
 * @param firstTransfer the lowest transfer that the initiator will use in a new session
 * @param key path and generation; generation 0 asks for no path, but leaves the session
 * @param transport the transport's name
 * @param remoteRail the target's rail, by name
 */
public record Hello(
    String initiator,
    long initiatorEpoch,
    String target,
    long targetEpoch,
    int session,
    long firstTransfer,
    PathKey key,
    String transport,
    String remoteRail) {

  public Hello {
    Objects.requireNonNull(initiator, "initiator");
    Objects.requireNonNull(target, "target");
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(transport, "transport");
    Objects.requireNonNull(remoteRail, "remoteRail");
  }

  /** True if the initiator leaves this session, and could not say so on its paths. */
  public boolean leaves() {
    return key.generation() == 0;
  }
}
