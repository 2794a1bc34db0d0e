/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.verbs.abi.GidAttributes;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What the two ends tell each other of their queue pairs, offer and answer alike, 48 bytes: u8 version, u8 path MTU code,
 * u16 LID, u32 queue pair number, u32 packet sequence number, u8 READs that it initiates, u8 READs that it serves, u8 GID
 * type, u8 GID index, the GID, u64 device (what the keys of its memory are filed under), u64 zero.
 *
 * @param mtu one of {@link dev.hawser.engine.verbs.abi.VerbsAbi.Mtu}, the most that the end bears
 * @param lid on InfiniBand, else 0
 * @param qpNumber of its queue pair
 * @param psn where its packets begin
 * @param initiatesReads at most under way
 * @param servesReads at most at once
 * @param gid its GID
 * @param device its device
 */
record QpCard(
    int mtu, int lid, int qpNumber, int psn, int initiatesReads, int servesReads, GidAttributes gid, long device) {
  private static final int VERSION = 1;
  private static final int BYTES = 48;

  byte[] encode() {
    return ByteBuffer.allocate(BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put((byte) VERSION)
        .put((byte) mtu)
        .putShort((short) lid)
        .putInt(qpNumber)
        .putInt(psn)
        .put((byte) initiatesReads)
        .put((byte) servesReads)
        .put((byte) gid.type())
        .put((byte) gid.index())
        .put(gid.gid())
        .putLong(device)
        .putLong(0)
        .array();
  }

  /** Reads the other end's. */
  static QpCard decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try {
      if (in.get() != VERSION || bytes.length < BYTES) {
        throw new PathSetupException(
            "verbs: the peer speaks another version of this transport: update the older agent");
      }
      int mtu = in.get();
      int lid = in.getShort() & 0xffff;
      int qpNumber = in.getInt();
      int psn = in.getInt();
      int initiates = in.get() & 0xff;
      int serves = in.get() & 0xff;
      int type = in.get();
      int index = in.get() & 0xff;
      byte[] gid = new byte[16];
      in.get(gid);
      if (mtu < 1 || mtu > 5 || (qpNumber & 0xff000000) != 0 || (psn & 0xff000000) != 0) {
        throw new PathSetupException(
            "verbs: the peer's queue pair cannot be: MTU code %d, number 0x%x, PSN 0x%x".formatted(mtu, qpNumber, psn));
      }
      return new QpCard(mtu, lid, qpNumber, psn, initiates, serves, new GidAttributes(index, gid, type), in.getLong());
    } catch (BufferUnderflowException e) {
      throw new PathSetupException("verbs: the peer's " + bytes.length + " bytes are cut short", e);
    }
  }
}
