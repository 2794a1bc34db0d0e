/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** A grant cannot be made, used or ended this way; the message says why and what to do. */
public final class GrantException extends AgentException {
  private static final long serialVersionUID = 1L;

  GrantException(String message) {
    super(message);
  }

  GrantException(String message, Throwable cause) {
    super(message, cause);
  }
}
