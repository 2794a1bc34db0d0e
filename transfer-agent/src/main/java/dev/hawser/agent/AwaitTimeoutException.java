/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** What was awaited did not come in time. Nothing was ended by that: it can be awaited again, or cancelled. */
public final class AwaitTimeoutException extends AgentException {
  private static final long serialVersionUID = 1L;

  AwaitTimeoutException(String message) {
    super(message);
  }
}
