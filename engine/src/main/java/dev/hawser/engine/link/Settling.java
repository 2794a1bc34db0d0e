/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import org.jspecify.annotations.Nullable;

/**
 * A transfer that has ended here and is not settled at the target yet. Pooled by its link.
 */
final class Settling {

  /** What the target is asked for. */
  enum Kind {
    /** It ended DONE: the target will say that it delivered. */
    AWAIT_DELIVERED,
    /** It ended otherwise: the target must abort it, if it has not delivered it. */
    ABORT
  }

  long transfer;
  Kind kind = Kind.AWAIT_DELIVERED;

  /** The handle that still wants to know; it knows whether it was posted again meanwhile. */
  @Nullable
  TransferState handle;

  byte[] requestId = TransferState.NO_BYTES;

  /** Generations that carried data and whose flush the target must have seen. */
  final GenerationSet carried = new GenerationSet();

  final GenerationSet flushed = new GenerationSet();

  /** A notification credit goes back if the target aborts. */
  boolean charged;

  /** The session in which it ran; in a later one the target is only asked. */
  int session;

  /** Where the request was sent; null if it must be sent (again). */
  @Nullable
  PathGeneration askedOn;

  /** True if only a QUERY is needed. */
  boolean query;

  void reset() {
    handle = null;
    requestId = TransferState.NO_BYTES;
    carried.clear();
    flushed.clear();
    charged = false;
    askedOn = null;
    query = false;
  }
}
