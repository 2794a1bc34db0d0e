/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** The registry is closed or closing, and registers nothing more. */
public final class RegistryClosedException extends MemoryException {
  private static final long serialVersionUID = 1L;

  RegistryClosedException() {
    super("the memory registry is closed: register memory before closing it, or with another registry");
  }
}
