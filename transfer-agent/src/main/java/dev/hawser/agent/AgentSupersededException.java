/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** A newer incarnation has this agent's name: peers refuse this one. Close it. */
public final class AgentSupersededException extends AgentException {
  private static final long serialVersionUID = 1L;

  AgentSupersededException(String agent, long epoch, String reason) {
    super("agent '" + agent + "' (epoch " + Long.toUnsignedString(epoch)
        + ") was superseded by a newer one of that name: " + reason + "; close this one");
  }
}
