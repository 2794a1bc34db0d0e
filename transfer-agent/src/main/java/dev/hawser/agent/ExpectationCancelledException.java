/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** An expectation was given up with {@link CounterFuture#cancel}: it will not come true any more. */
public final class ExpectationCancelledException extends AgentException {
  private static final long serialVersionUID = 1L;

  ExpectationCancelledException(String message) {
    super(message);
  }
}
