/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.spi.DataRequest;

/** What a transfer does, seen from the initiator. */
public enum Operation {
  /** The peer's memory to ours. */
  READ(DataRequest.Op.READ),
  /** Our memory to the peer's. */
  WRITE(DataRequest.Op.WRITE);

  private final DataRequest.Op op;

  Operation(DataRequest.Op op) {
    this.op = op;
  }

  DataRequest.Op op() {
    return op;
  }
}
