/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

/** A number that is no handle, of another kind, or released. */
final class InvalidHandleException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  InvalidHandleException(String message) {
    super(message);
  }
}
