/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import org.jspecify.annotations.Nullable;

/** A notification that arrived. */
public interface InboundNotification {
  String peer();

  long peerEpoch();

  /** The initiator's transfer number. */
  long transfer();

  @Nullable
  String requestId();

  /** The payload; the array is the receiver's own. */
  byte[] payload();

  /** Gives the credit back; idempotent; any thread. */
  void consumed();
}
