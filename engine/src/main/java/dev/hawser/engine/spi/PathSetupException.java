/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/** A path could not be set up; the message says why and reaches the other side's user. */
public final class PathSetupException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public PathSetupException(String message) {
    super(message);
  }

  public PathSetupException(String message, Throwable cause) {
    super(message, cause);
  }
}
