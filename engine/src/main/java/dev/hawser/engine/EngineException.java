/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

/** The engine cannot start or go on; the message names the setting or the resource and the cure. */
public final class EngineException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public EngineException(String message) {
    super(message);
  }

  public EngineException(String message, Throwable cause) {
    super(message, cause);
  }
}
