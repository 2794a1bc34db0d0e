/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** The agent is closed; start another. */
public final class AgentClosedException extends AgentException {
  private static final long serialVersionUID = 1L;

  AgentClosedException(String agent) {
    super("agent '" + agent + "' is closed; start another one");
  }
}
