/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

/** Bytes that do not follow the bootstrap protocol; the message says which, in one line. */
final class MalformedFrameException extends RuntimeException {
  private static final long serialVersionUID = 1;

  MalformedFrameException(String message) {
    super(message);
  }
}
