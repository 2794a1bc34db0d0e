/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/** A measurement could not be taken; the message says what happened, to what, and what to do. */
public final class BenchException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** With what happened. */
  public BenchException(String message) {
    super(message);
  }

  /** With what happened, and because of what. */
  public BenchException(String message, Throwable cause) {
    super(message, cause);
  }
}
