/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.TransferEnd;
import org.jspecify.annotations.Nullable;

/** A transfer did not do what it was to do. */
public final class TransferException extends AgentException {
  private static final long serialVersionUID = 1L;

  private final transient TransferEnd end;
  private final String peer;
  private final @Nullable String requestId;

  private TransferException(String message, TransferEnd end, String peer, @Nullable String requestId) {
    super(message);
    this.end = end;
    this.peer = peer;
    this.requestId = requestId;
  }

  static TransferException of(TransferEnd end, Operation operation, String peer, @Nullable String requestId) {
    StringBuilder message = new StringBuilder(160).append(operation).append(" with peer '").append(peer).append('\'');
    if (requestId != null) {
      message.append(" (request ").append(requestId).append(')');
    }
    switch (end) {
      case TransferEnd.Cancelled _ -> message.append(" was cancelled: nothing was and will be notified");
      case TransferEnd.Failed failed -> {
        message.append(" failed: ").append(failed.cause()).append(": ").append(failed.message());
        if (failed.cause() == TransferEnd.Cause.PEER_RESTARTED) {
          message.append("; take the regions of its new incarnation from agent.peer(\"").append(peer)
              .append("\") (or add its new metadata) and prepare the transfer again");
        }
        if (failed.rail() != null) {
          message.append("; rail ").append(failed.rail());
        }
        if (failed.path() != null) {
          message.append("; path ").append(failed.path());
        }
        if (failed.position() >= 0) {
          message.append("; at byte ").append(failed.position());
        }
        if (failed.notified() == TransferEnd.Notified.UNKNOWN) {
          message.append("; its notification may have come: see remoteSettled()");
        }
      }
      case TransferEnd.Done _ -> throw new IllegalArgumentException("end: it is done; that is no failure");
    }
    return new TransferException(message.toString(), end, peer, requestId);
  }

  static TransferException failed(TransferEnd.Cause cause, String what, Operation operation, String peer,
      @Nullable String requestId) {
    return of(new TransferEnd.Failed(cause, what, peer, null, null, -1, TransferEnd.Notified.NO), operation, peer,
        requestId);
  }

  /** How it ended: cancelled, or failed with everything that is known. */
  public TransferEnd end() {
    return end;
  }

  /** Whether it was cancelled. */
  public boolean cancelled() {
    return end instanceof TransferEnd.Cancelled;
  }

  /** The class of failure; null if it was cancelled. */
  public TransferEnd.@Nullable Cause failure() {
    return end instanceof TransferEnd.Failed failed ? failed.cause() : null;
  }

  /** The peer's name. */
  public String peer() {
    return peer;
  }

  /** The request id, if it had one. */
  public @Nullable String requestId() {
    return requestId;
  }
}
