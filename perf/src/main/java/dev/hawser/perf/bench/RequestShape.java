/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/**
 * What one request moves.
 *
 * @param blockBytes bytes of one block
 * @param batch how many blocks
 */
public record RequestShape(long blockBytes, int batch) {

  public RequestShape {
    if (blockBytes < 1 || batch < 1 || blockBytes > Long.MAX_VALUE / batch) {
      throw new IllegalArgumentException(batch + " blocks of " + blockBytes + " bytes are no request");
    }
  }

  /** All bytes. */
  public long requestBytes() {
    return blockBytes * batch;
  }
}
