/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

/** A native library, or a symbol of it, is not on this machine. Its message names which. */
public final class MissingNativeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** An exception whose message names what is missing. */
  public MissingNativeException(String message) {
    super(message);
  }
}
