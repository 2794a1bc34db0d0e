/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import org.jspecify.annotations.Nullable;

/**
 * What the engine tells its agent as a target. Called on engine threads, one at a time per peer;
 * must not block.
 */
public interface InboundHandler {

  /**
   * Every byte of the transfer is visible, and this is its notification. The agent calls {@link
   * InboundNotification#consumed()} once its user has taken it, which gives the credit back.
   */
  void notification(InboundNotification notification);

  /** One arrival for a counter, behind its data. */
  void counted(String peer, long peerEpoch, long counter, @Nullable String requestId);

  /** A transfer will never be delivered, and no byte of it will land any more. */
  void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId);

  /**
   * A peer's link session is over and completely fenced: memory it could reach may be reused.
   *
   * @param reason lapse, close, new epoch, revoked
   */
  void peerLost(String peer, long peerEpoch, String reason);
}
