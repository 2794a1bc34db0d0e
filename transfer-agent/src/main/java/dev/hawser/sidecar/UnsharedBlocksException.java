/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

/** Blocks of a GPU's memory that the worker does not share. */
final class UnsharedBlocksException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnsharedBlocksException(String message) {
    super(message);
  }
}
