/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

/** A peer could not be run, or printed what was not expected; the message has its own words. */
public sealed class PeerException extends RuntimeException permits PeerHangsException {
  private static final long serialVersionUID = 1;

  PeerException(String message) {
    super(message);
  }

  PeerException(String message, Throwable cause) {
    super(message, cause);
  }
}
