/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** What an agent refused or could not do. Each kind is a type of its own; the message names the argument and the cure. */
public abstract sealed class AgentException extends RuntimeException
    permits AgentClosedException, AgentSupersededException, AwaitTimeoutException, ExpectationCancelledException,
    GrantException, NameInUseException,
    PeerMetadataException, TransferException, UnknownPeerException, UnresolvedBlocksException {
  private static final long serialVersionUID = 1L;

  AgentException(String message) {
    super(message);
  }

  AgentException(String message, Throwable cause) {
    super(message, cause);
  }
}
