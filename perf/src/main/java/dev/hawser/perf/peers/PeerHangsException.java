/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

/** A peer did not end in its time. It is not tried again: once is long enough. */
final class PeerHangsException extends PeerException {
  private static final long serialVersionUID = 1;

  PeerHangsException(String message) {
    super(message);
  }
}
