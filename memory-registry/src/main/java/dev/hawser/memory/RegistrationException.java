/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** A registration could not be completed or given back, for a reason outside the arguments. */
public final class RegistrationException extends MemoryException {
  private static final long serialVersionUID = 1L;

  RegistrationException(String message) {
    super(message);
  }

  RegistrationException(String message, Throwable cause) {
    super(message, cause);
  }
}
