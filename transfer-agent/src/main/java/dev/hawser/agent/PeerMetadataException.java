/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.util.Objects;

/** A peer's metadata is refused. What was known of the peer before stands. */
public final class PeerMetadataException extends AgentException {
  private static final long serialVersionUID = 1L;

  /** Why. */
  public enum Reason {
    /** Damaged, forged, signed with another secret, of another version, or against the format. */
    MALFORMED,
    /** It is this agent's own. */
    OWN_NAME,
    /** A newer incarnation of the peer is known. */
    OLDER_EPOCH,
    /** It is not what the metadata service says that it is. */
    DISAGREES,
    /** It does not say where the peer can be reached, and nothing else did. */
    NO_CONNECTION
  }

  private final Reason reason;

  PeerMetadataException(Reason reason, String message) {
    super(message);
    this.reason = Objects.requireNonNull(reason);
  }

  PeerMetadataException(Reason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = Objects.requireNonNull(reason);
  }

  /** Why. */
  public Reason reason() {
    return reason;
  }
}
