/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** Bytes that do not follow the protocol; the connection that brought them is given up. */
public final class WireException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public WireException(String message) {
    super(message);
  }
}
