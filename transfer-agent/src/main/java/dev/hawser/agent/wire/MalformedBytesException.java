/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

/** Bytes from outside are damaged, forged, of another version or against the format; the message says which and where. */
public final class MalformedBytesException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public MalformedBytesException(String message) {
    super(message);
  }
}
