/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Agent;

/**
 * An agent that a foreign program holds.
 *
 * @param agent the agent
 * @param ended what of it has ended and is watched
 */
record HeldAgent(Agent agent, Ended ended) {
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
