/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/** A device did not do its work in time. What it still does goes on; its memory must not be used again yet. */
public final class GpuTimeoutException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  GpuTimeoutException(String message) {
    super(message);
  }
}
