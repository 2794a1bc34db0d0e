/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/** The demonstration did not show what it is to show; the message says what went wrong, in one line. */
final class DemonstrationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  DemonstrationException(String message) {
    super(message);
  }

  DemonstrationException(String message, Throwable cause) {
    super(message, cause);
  }
}
