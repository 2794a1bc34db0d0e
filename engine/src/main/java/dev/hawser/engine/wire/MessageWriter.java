/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Writes one message at a time into its own buffer. Not thread-safe; allocates nothing per message.
 *
 * <pre>
 *  0       1       2               4                               8                              16
 *  +-------+-------+---------------+-------------------------------+------------------------------+
 *  | type  | flags |       0       |            session            |  transfer, or an argument    |
 *  +-------+-------+---------------+-------------------------------+------------------------------+
 *  | fields and lists of this type                                                                |
 * </pre>
 */
public final class MessageWriter {
  /** Bytes of the common header. */
  public static final int HEADER_BYTES = 16;

  /** The largest notification. */
  public static final int MAX_PAYLOAD_BYTES = 4096;

  /** The largest request id, in bytes of UTF-8. */
  public static final int MAX_REQUEST_ID_BYTES = 64;

  /** The longest reason of a CLOSE, in bytes of UTF-8. */
  static final int MAX_REASON_BYTES = 256;

  /** The most path generations that one record can name. */
  public static final int MAX_SET = 64;

  /** The largest message of the protocol. */
  public static final int MAX_MESSAGE_BYTES =
      HEADER_BYTES + 24 + MAX_SET * 4 + MAX_REQUEST_ID_BYTES + MAX_PAYLOAD_BYTES;

  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(MAX_MESSAGE_BYTES).order(ByteOrder.LITTLE_ENDIAN);

  private int setCountAt;

  /** HEARTBEAT. */
  public ByteBuffer heartbeat(int session, long closedBelow) {
    return begin(MessageType.HEARTBEAT, session, closedBelow).flip();
  }

  /** HEARTBEAT_ACK. */
  public ByteBuffer heartbeatAck(int session, int notificationLimit) {
    return begin(MessageType.HEARTBEAT_ACK, session, notificationLimit & 0xffffffffL).flip();
  }

  /** CREDIT. */
  public ByteBuffer credit(int session, int notificationLimit) {
    return begin(MessageType.CREDIT, session, notificationLimit & 0xffffffffL).flip();
  }

  /**
   * RECORD, without its set: {@link #addGeneration} as often as needed, then {@link #endRecord}.
   */
  public void beginRecord(
      int session, long transfer, long closedBelow, RecordKind kind, long counter) {
    begin(MessageType.RECORD, session, transfer)
        .putLong(closedBelow)
        .putLong(counter)
        .put((byte) kind.number())
        .put((byte) 0);
    setCountAt = buffer.position();
    buffer.putShort((short) 0).putShort((short) 0).putShort((short) 0);
  }

  /** ABORT, without its set: {@link #addGeneration}, then {@link #endAbort}. */
  public void beginAbort(int session, long transfer, long closedBelow) {
    begin(MessageType.ABORT, session, transfer).putLong(closedBelow);
    setCountAt = buffer.position();
    buffer.putShort((short) 0).putShort((short) 0);
  }

  /** Adds a path generation to the set of the record or abort that was begun. */
  public void addGeneration(int packedKey) {
    int count = buffer.getShort(setCountAt) + 1;
    if (count > MAX_SET) {
      throw new WireException("more than " + MAX_SET + " path generations in one record");
    }
    buffer.putShort(setCountAt, (short) count);
    buffer.putInt(packedKey);
  }

  /** Ends a RECORD. */
  public ByteBuffer endRecord(byte[] requestId, byte[] payload) {
    if (payload.length > MAX_PAYLOAD_BYTES || requestId.length > MAX_REQUEST_ID_BYTES) {
      throw new WireException(
          "record too large: payload " + payload.length + ", request id " + requestId.length);
    }
    buffer.putShort(setCountAt + 2, (short) requestId.length);
    buffer.putShort(setCountAt + 4, (short) payload.length);
    return buffer.put(requestId).put(payload).flip();
  }

  /** Ends an ABORT. */
  public ByteBuffer endAbort(byte[] requestId) {
    buffer.putShort(setCountAt + 2, (short) requestId.length);
    return buffer.put(requestId).flip();
  }

  /** FENCE. */
  public ByteBuffer fence(int session, int packedKey) {
    return begin(MessageType.FENCE, session, packedKey & 0xffffffffL).flip();
  }

  /** FENCE_ACK. */
  public ByteBuffer fenceAck(int session, int packedKey) {
    return begin(MessageType.FENCE_ACK, session, packedKey & 0xffffffffL).flip();
  }

  /**
   * QUERY.
   *
   * @param ranIn the session in which the transfer ran
   */
  public ByteBuffer query(int session, long transfer, int ranIn) {
    return begin(MessageType.QUERY, session, transfer).putInt(ranIn).flip();
  }

  /**
   * DEMAND.
   *
   * @param wanted bytes that would be under way if nothing but the way held them back
   * @param most bytes that may be under way at most, whatever the credit
   * @param held whether the present credit holds something back
   */
  public ByteBuffer demand(int session, long wanted, long most, boolean held) {
    begin(MessageType.DEMAND, session, wanted).putLong(most);
    buffer.put(1, (byte) (held ? 1 : 0));
    return buffer.flip();
  }

  /**
   * BYTE_CREDIT.
   *
   * @param bytes that may be under way; −1 if nobody else is to be considered
   */
  public ByteBuffer byteCredit(int session, long bytes) {
    return begin(MessageType.BYTE_CREDIT, session, bytes).flip();
  }

  /** STATE. */
  public ByteBuffer state(int session, long transfer, TargetState state) {
    begin(MessageType.STATE, session, transfer);
    buffer.put(1, (byte) state.number());
    return buffer.flip();
  }

  /** CLOSE. A reason that is too long is cut. */
  public ByteBuffer close(int session, CloseKind kind, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    int bytes = Math.min(text.length, MAX_REASON_BYTES);
    while (bytes < text.length && (text[bytes] & 0xc0) == 0x80) {
      bytes--; // not in the middle of a character
    }
    begin(MessageType.CLOSE, session, bytes).put(text, 0, bytes);
    buffer.put(1, (byte) kind.number());
    return buffer.flip();
  }

  private ByteBuffer begin(MessageType type, int session, long argument) {
    return buffer
        .clear()
        .put((byte) type.number())
        .put((byte) 0)
        .putShort((short) 0)
        .putInt(session)
        .putLong(argument);
  }
}
