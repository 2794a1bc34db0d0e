/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

/** The bootstrap cannot start, or a setting cannot be used; the message says what to do. */
public final class BootstrapException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** An exception with a message for the user. */
  public BootstrapException(String message, Throwable cause) {
    super(message, cause);
  }
}
