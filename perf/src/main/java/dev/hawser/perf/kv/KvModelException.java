/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

/** A model's configuration cannot be used; the message names the field, what it holds, and what would do. */
public final class KvModelException extends RuntimeException {
  private static final long serialVersionUID = 1;

  KvModelException(String message) {
    super(message);
  }

  KvModelException(String message, Throwable cause) {
    super(message, cause);
  }
}
