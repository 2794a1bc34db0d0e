/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** The messages of protocol version 1; the number is the first byte on the wire. */
public enum MessageType {
  /** Initiator: alive; carries closedBelow. */
  HEARTBEAT(1),
  /** Target: alive; carries the notification limit. */
  HEARTBEAT_ACK(2),
  /** Initiator: the COMMIT record of a transfer: payload and the set of generations. */
  RECORD(3),
  /** Initiator: the transfer ended without delivery; settle it. */
  ABORT(4),
  /** Initiator: fence a path generation. */
  FENCE(5),
  /** Target: that generation is fenced. */
  FENCE_ACK(6),
  /** Initiator: what became of this transfer? */
  QUERY(7),
  /** Target: this became of it, as an answer or by itself once it is settled. */
  STATE(8),
  /** Target: more notifications may be sent. */
  CREDIT(9),
  /** Either: the agent or this session ends; carries which, and a reason. */
  CLOSE(10),
  /** Initiator: how much it would have under way towards the target's rail; to those that have BYTE_CREDITS. */
  DEMAND(11),
  /** Target: so much may be under way towards that rail; only in answer to DEMAND. */
  BYTE_CREDIT(12);

  private static final MessageType[] BY_NUMBER = new MessageType[13];

  static {
    for (MessageType type : values()) {
      BY_NUMBER[type.number] = type;
    }
  }

  private final int number;

  MessageType(int number) {
    this.number = number;
  }

  /** The number on the wire. */
  public int number() {
    return number;
  }

  static MessageType of(int number) {
    if (number < 1 || number >= BY_NUMBER.length) {
      throw new WireException("unknown message type " + number);
    }
    return BY_NUMBER[number];
  }
}
