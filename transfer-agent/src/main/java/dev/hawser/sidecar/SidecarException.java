/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

/** A sidecar cannot listen, or a worker does not speak as one; the message says what to do. */
public final class SidecarException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  SidecarException(String message) {
    super(message);
  }

  SidecarException(String message, Throwable cause) {
    super(message, cause);
  }
}
