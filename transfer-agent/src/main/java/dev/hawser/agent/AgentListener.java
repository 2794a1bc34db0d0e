/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import org.jspecify.annotations.Nullable;

/** Hears what happens to an agent by itself. Called on the callback executor. */
public interface AgentListener {
  /** A peer's session with us is over and fenced: memory that it could reach may be reused. */
  default void peerLost(String peer, long peerEpoch, String reason) {}

  /** A newer incarnation of a peer is known: what was prepared for the old one has to be prepared again. */
  default void peerRestarted(Peer peer, long oldEpoch) {}

  /** A peer's transfer to us will never be delivered, and no byte of it will land any more. */
  default void transferAborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {}

  /** A newer incarnation of this agent has its name: close this one. */
  default void superseded(String reason) {}
}
