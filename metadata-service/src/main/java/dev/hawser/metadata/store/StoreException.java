/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** The store cannot work now. The message says what happened, to what, and what to do. */
public final class StoreException extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1L;

  public StoreException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
