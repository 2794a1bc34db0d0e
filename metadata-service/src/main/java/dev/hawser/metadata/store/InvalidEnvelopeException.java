/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.io.Serial;

/** A field of an envelope is missing or out of its limits. The message names the field, the value and the limit. */
public final class InvalidEnvelopeException extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1L;

  InvalidEnvelopeException(String field, String why) {
    super(field + " " + why);
  }

  /** Input, not a fault of this program: where it was thrown is of no interest, and it is thrown often. */
  @Override
  public Throwable fillInStackTrace() {
    return this;
  }
}
