/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.PathSetupException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What the two ends say of themselves before they begin, 16 bytes: u16 version, u16 abilities, u32 READs and u32 READ
 * segments that the target takes at once, u32 longest message. Both ends of version 2 have the same figures; an end that
 * offers less than the other needs is refused. Abilities that this end does not know mean nothing to it.
 *
 * @param abilities bits; an end that has none of them is as good, and gets none of their frames
 * @param reads READs under way
 * @param readSegments their segments together
 * @param messageBytes of the longest message
 */
record TcpOffer(int abilities, int reads, int readSegments, int messageBytes) {
  /** READs are taken back by WITHDRAW, and ended by a NACK that says so. */
  static final int WITHDRAWS = 1;

  static final TcpOffer OURS =
      new TcpOffer(WITHDRAWS, ReadService.READS, ReadService.SEGMENTS, FrameLayout.MAX_MESSAGE_BYTES);

  private static final int VERSION = 2;
  private static final int BYTES = 16;

  byte[] encode() {
    return ByteBuffer.allocate(BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putShort((short) VERSION)
        .putShort((short) abilities)
        .putInt(reads)
        .putInt(readSegments)
        .putInt(messageBytes)
        .array();
  }

  /** Reads the other end's, and refuses what this end could not keep to. */
  static TcpOffer check(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.length < BYTES || in.getShort() != VERSION) {
      throw new PathSetupException("tcp: the peer speaks another version of this transport: update the older agent");
    }
    TcpOffer offer = new TcpOffer(Short.toUnsignedInt(in.getShort()), in.getInt(), in.getInt(), in.getInt());
    if (offer.reads < OURS.reads || offer.readSegments < OURS.readSegments || offer.messageBytes < OURS.messageBytes) {
      throw new PathSetupException("tcp: the peer bears too little for this agent: " + offer + ", not " + OURS);
    }
    return offer;
  }

  /** Whether the end that said it knows {@link #WITHDRAWS}. */
  boolean withdraws() {
    return (abilities & WITHDRAWS) != 0;
  }
}
