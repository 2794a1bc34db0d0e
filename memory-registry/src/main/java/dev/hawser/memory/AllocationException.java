/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import dev.hawser.memory.ffi.NativeCallException;

/** Memory could not be allocated: how much was asked for, what refused it, and what would help. */
public final class AllocationException extends MemoryException {
  private static final long serialVersionUID = 1L;

  private final long bytes;

  AllocationException(long bytes, String reason) {
    super("cannot allocate " + bytes + " bytes: " + reason);
    this.bytes = bytes;
  }

  AllocationException(long bytes, NativeCallException cause) {
    this(bytes, String.valueOf(cause.getMessage()), cause);
  }

  AllocationException(long bytes, String reason, Throwable cause) {
    super("cannot allocate " + bytes + " bytes: " + reason, cause);
    this.bytes = bytes;
  }

  /** How many bytes were asked for. */
  public long bytes() {
    return bytes;
  }
}
