/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import org.jspecify.annotations.Nullable;

/** A request cannot be served; the client is told the status and the message. */
final class ProxyException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final boolean retriable;

  private ProxyException(int status, boolean retriable, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.status = status;
    this.retriable = retriable;
  }

  /** It is the client's request, or nothing that another engine would do better. */
  static ProxyException of(int status, String message) {
    return new ProxyException(status, false, message, null);
  }

  /** An engine failed before the client was told anything: another may do better. */
  static ProxyException retriable(int status, String message, Throwable cause) {
    return new ProxyException(status, true, message, cause);
  }

  int status() {
    return status;
  }

  boolean retriable() {
    return retriable;
  }
}
