/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** The service cannot start or stop. The message says what happened, to what, and what to do, on one line. */
public final class MetadataException extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1L;

  MetadataException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
