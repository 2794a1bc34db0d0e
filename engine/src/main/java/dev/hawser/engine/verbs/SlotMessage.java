/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.wire.MessageType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * What the two ends of a path tell each other of slots: memory of a device at the target that its NIC does not register goes
 * through pinned slots there, which the initiator writes and reads, and the target empties and fills. Little-endian:
 *
 * <pre>
 *  0 u8 type    1 u8 flags    2 u16 slot    4 u32 device, see {@link StagedMoves#number}
 *  ASK    initiator: who are its slots?
 *  SLOTS  target:    8 u64 address of the first    16 u32 key
 *  NONE   target:    8 reason (UTF-8): there are none
 *  PLACES initiator: 8 u32 pieces    16 for each: u64 address, u32 bytes, u32 region. What the slot's bytes are of, in their
 *                    order; flags: 1 WRITE, 2 the last of them, now move
 *  MOVED  target:    8 u32 how it ended: 0 well, 1 refused, 2 a region is closed
 * </pre>
 */
final class SlotMessage {
  /** The types, above all of {@link MessageType}. */
  static final int ASK = 0x81;

  static final int SLOTS = 0x82;
  static final int NONE = 0x83;
  static final int PLACES = 0x84;
  static final int MOVED = 0x85;

  static final int WRITE = 1;
  static final int LAST = 2;

  static final int WELL = 0;
  static final int REFUSED = 1;
  static final int CLOSED = 2;

  static final int HEADER_BYTES = 16;
  static final int PLACE_BYTES = 16;

  /** Pieces of one message. */
  static final int MOST_PLACES = (SharedReceiveQueue.SLOT_BYTES - HEADER_BYTES) / PLACE_BYTES;

  private static final int REASON_BYTES = 512;
  private static final int SLOTS_BYTES = 20;
  private static final int MOVED_BYTES = 12;
  private static final int OWN = 0x80;

  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(SharedReceiveQueue.SLOT_BYTES).order(ByteOrder.LITTLE_ENDIAN);

  /** Whether a message is one of these, and not the link's. */
  static boolean isOne(ByteBuffer message) {
    return (message.get(message.position()) & OWN) != 0;
  }

  private ByteBuffer begin(int type, int flags, int slot, int device) {
    buffer.clear();
    return buffer.put((byte) type).put((byte) flags).putShort((short) slot).putInt(device);
  }

  ByteBuffer ask(int device) {
    return begin(ASK, 0, 0, device).flip();
  }

  ByteBuffer slots(int device, long address, int key) {
    return begin(SLOTS, 0, 0, device).putLong(address).putInt(key).flip();
  }

  ByteBuffer none(int device, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    return begin(NONE, 0, 0, device).put(text, 0, Math.min(text.length, REASON_BYTES)).flip();
  }

  ByteBuffer moved(int device, int slot, int how) {
    return begin(MOVED, 0, slot, device).putInt(how).flip();
  }

  /** Begins a list of places, whose pieces follow. */
  void beginPlaces(int device, int slot, boolean write) {
    begin(PLACES, write ? WRITE : 0, slot, device).putLong(0);
  }

  /** One more; false if the message is full. */
  boolean addPlace(long address, int bytes, int region) {
    if (buffer.remaining() < PLACE_BYTES) {
      return false;
    }
    buffer.putLong(address).putInt(bytes).putInt(region);
    return true;
  }

  ByteBuffer endPlaces(boolean last) {
    buffer.putInt(8, (buffer.position() - HEADER_BYTES) / PLACE_BYTES);
    buffer.put(1, (byte) (buffer.get(1) | (last ? LAST : 0)));
    return buffer.flip();
  }

  // ------------------------------------------------------------------ reading; positions are relative to the message's

  static int type(ByteBuffer message) {
    return message.get(message.position()) & 0xff;
  }

  static int flags(ByteBuffer message) {
    return message.get(message.position() + 1);
  }

  static int slot(ByteBuffer message) {
    return message.getShort(message.position() + 2) & 0xffff;
  }

  static int device(ByteBuffer message) {
    return message.getInt(message.position() + 4);
  }

  static long address(ByteBuffer message) {
    return message.getLong(message.position() + 8);
  }

  static int key(ByteBuffer message) {
    return message.getInt(message.position() + 16);
  }

  static String reason(ByteBuffer message) {
    byte[] text = new byte[message.remaining() - 8];
    message.get(message.position() + 8, text);
    return new String(text, StandardCharsets.UTF_8);
  }

  static int how(ByteBuffer message) {
    return message.getInt(message.position() + 8);
  }

  static int places(ByteBuffer message) {
    return message.getInt(message.position() + 8);
  }

  /** Whether its length fits its type, and the list of places it says it has. */
  static boolean isWellFormed(ByteBuffer message) {
    int bytes = message.remaining();
    if (bytes < 8) {
      return false;
    }
    return switch (type(message)) {
      case ASK -> bytes == 8;
      case SLOTS -> bytes == SLOTS_BYTES;
      case NONE -> true;
      case MOVED -> bytes == MOVED_BYTES;
      case PLACES -> bytes > HEADER_BYTES && (long) places(message) * PLACE_BYTES == bytes - HEADER_BYTES;
      default -> false;
    };
  }

  static long placeAddress(ByteBuffer message, int index) {
    return message.getLong(message.position() + HEADER_BYTES + index * PLACE_BYTES);
  }

  static long placeBytes(ByteBuffer message, int index) {
    return Integer.toUnsignedLong(message.getInt(message.position() + HEADER_BYTES + index * PLACE_BYTES + 8));
  }

  static int placeRegion(ByteBuffer message, int index) {
    return message.getInt(message.position() + HEADER_BYTES + index * PLACE_BYTES + 12);
  }
}
