/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** No metadata of such a peer is known, or it was removed. */
public final class UnknownPeerException extends AgentException {
  private static final long serialVersionUID = 1L;

  private final String peer;

  UnknownPeerException(String peer, String message) {
    super(message);
    this.peer = peer;
  }

  /** The peer's name. */
  public String peer() {
    return peer;
  }
}
