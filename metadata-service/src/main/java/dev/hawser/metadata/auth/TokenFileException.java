/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** The file of tokens cannot be used. The message says which line, why, and what to do; never a token. */
public final class TokenFileException extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1L;

  TokenFileException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
