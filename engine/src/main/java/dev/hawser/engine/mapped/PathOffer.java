/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.PathSetupException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * What the initiator offers.
 *
 * @param identity its process
 * @param segmentFd its descriptor of the shared segment
 * @param bellFd its descriptor of the reading end of its pipe, to be opened for writing
 * @param nonceHigh with {@code nonceLow} what the segment must begin with
 * @param nonceLow see {@code nonceHigh}
 */
public record PathOffer(ProcessIdentity identity, int segmentFd, int bellFd, long nonceHigh, long nonceLow) {
  private static final int MAX_BYTES = 4096;

  public byte[] encode() {
    ByteBuffer to = ProcessIdentity.littleEndian(new byte[MAX_BYTES]);
    to.putInt(PathSegment.VERSION);
    identity.encode(to);
    to.putInt(segmentFd).putInt(bellFd).putLong(nonceHigh).putLong(nonceLow);
    return ProcessIdentity.toBytes(to);
  }

  public static PathOffer decode(byte[] bytes) {
    ByteBuffer from = ProcessIdentity.littleEndian(bytes);
    try {
      int version = from.getInt();
      if (version != PathSegment.VERSION) {
        throw new PathSetupException(
            "the initiator speaks version " + version + " of shm, this side " + PathSegment.VERSION);
      }
      return new PathOffer(
          ProcessIdentity.decode(from), from.getInt(), from.getInt(), from.getLong(), from.getLong());
    } catch (BufferUnderflowException e) {
      throw new PathSetupException("the initiator's offer of a shm path is cut off", e);
    }
  }
}
