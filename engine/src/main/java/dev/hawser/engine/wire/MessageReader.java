/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Reads one message at a time in place. Every length is checked before anything is believed: after
 * {@link #read} all accessors of the message's type are safe. Not thread-safe; allocates only for
 * the byte arrays and strings that it is asked for.
 */
public final class MessageReader {
  private static final ByteBuffer NONE = ByteBuffer.allocate(0);

  private ByteBuffer buffer = NONE;
  private int start;
  private MessageType type = MessageType.HEARTBEAT;
  private int setAt;
  private int setCount;
  private int requestIdLength;
  private int payloadLength;

  /**
   * Takes the buffer's remaining bytes as one message.
   *
   * @throws WireException if they are not one, with what is wrong
   */
  public MessageType read(ByteBuffer message) {
    int bytes = message.remaining();
    if (bytes < MessageWriter.HEADER_BYTES) {
      throw new WireException("message of " + bytes + " bytes is shorter than its header");
    }
    buffer = message.order(ByteOrder.LITTLE_ENDIAN);
    start = message.position();
    type = MessageType.of(buffer.get(start) & 0xff);
    setCount = 0;
    requestIdLength = 0;
    payloadLength = 0;
    int body = start + MessageWriter.HEADER_BYTES;
    int expected =
        MessageWriter.HEADER_BYTES
            + switch (type) {
              case RECORD -> {
                need(bytes, 24);
                RecordKind.of(buffer.get(body + 16));
                setCount = buffer.getShort(body + 18) & 0xffff;
                requestIdLength = buffer.getShort(body + 20) & 0xffff;
                payloadLength = buffer.getShort(body + 22) & 0xffff;
                setAt = body + 24;
                yield 24 + checkedLists();
              }
              case ABORT -> {
                need(bytes, 12);
                setCount = buffer.getShort(body + 8) & 0xffff;
                requestIdLength = buffer.getShort(body + 10) & 0xffff;
                setAt = body + 12;
                yield 12 + checkedLists();
              }
              case STATE -> {
                TargetState.of(buffer.get(start + 1));
                yield 0;
              }
              case QUERY -> 4;
              case DEMAND -> {
                need(bytes, 8);
                if (buffer.getLong(start + 8) < 0 || buffer.getLong(body) < 0) {
                  throw new WireException("DEMAND of a negative number of bytes");
                }
                yield 8;
              }
              case CLOSE -> {
                CloseKind.of(buffer.get(start + 1));
                long length = buffer.getLong(start + 8);
                if (length < 0 || length > MessageWriter.MAX_REASON_BYTES) {
                  throw new WireException("CLOSE with a reason of " + length + " bytes");
                }
                yield (int) length;
              }
              default -> 0;
            };
    if (bytes != expected) {
      throw new WireException(type + " of " + bytes + " bytes, expected " + expected);
    }
    return type;
  }

  public int session() {
    return buffer.getInt(start + 4);
  }

  /** Transfer of RECORD, ABORT, QUERY and STATE. */
  public long transfer() {
    return buffer.getLong(start + 8);
  }

  /** Path generation of FENCE and FENCE_ACK. */
  public int packedKey() {
    return (int) buffer.getLong(start + 8);
  }

  /** Limit of HEARTBEAT_ACK and CREDIT, modulo 2³². */
  public int notificationLimit() {
    return (int) buffer.getLong(start + 8);
  }

  /** closedBelow of HEARTBEAT, RECORD and ABORT. */
  public long closedBelow() {
    return buffer.getLong(
        type == MessageType.HEARTBEAT ? start + 8 : start + MessageWriter.HEADER_BYTES);
  }

  /** Session in which the transfer of QUERY ran. */
  public int ranIn() {
    return buffer.getInt(start + MessageWriter.HEADER_BYTES);
  }

  /** State of STATE. */
  public TargetState state() {
    return TargetState.of(buffer.get(start + 1));
  }

  /** Kind of RECORD. */
  public RecordKind kind() {
    return RecordKind.of(buffer.get(start + MessageWriter.HEADER_BYTES + 16));
  }

  /** Counter of RECORD. */
  public long counter() {
    return buffer.getLong(start + MessageWriter.HEADER_BYTES + 8);
  }

  /** Generations named by RECORD or ABORT. */
  public int setCount() {
    return setCount;
  }

  /** One of them, packed. */
  public int generation(int index) {
    if (index < 0 || index >= setCount) {
      throw new IndexOutOfBoundsException(index);
    }
    return buffer.getInt(setAt + index * 4);
  }

  /** Request id of RECORD or ABORT; empty if none. */
  public String requestId() {
    return new String(bytes(setAt + setCount * 4, requestIdLength), StandardCharsets.UTF_8);
  }

  public boolean hasRequestId() {
    return requestIdLength > 0;
  }

  /** Payload of RECORD. */
  public byte[] payload() {
    return bytes(setAt + setCount * 4 + requestIdLength, payloadLength);
  }

  /** Bytes that DEMAND would have under way, at least 0. */
  public long wantedBytes() {
    return buffer.getLong(start + 8);
  }

  /** Bytes that may be under way at the initiator of DEMAND at most; at least 0. */
  public long mostBytes() {
    return buffer.getLong(start + MessageWriter.HEADER_BYTES);
  }

  /** Whether the credit holds something back, of DEMAND. */
  public boolean isHeld() {
    return (buffer.get(start + 1) & 1) != 0;
  }

  /** Bytes of BYTE_CREDIT; negative if there is no limit. */
  public long byteCredit() {
    return buffer.getLong(start + 8);
  }

  /** Kind of CLOSE. */
  public CloseKind closeKind() {
    return CloseKind.of(buffer.get(start + 1));
  }

  /** Reason of CLOSE. */
  public String reason() {
    return new String(
        bytes(start + MessageWriter.HEADER_BYTES, (int) buffer.getLong(start + 8)),
        StandardCharsets.UTF_8);
  }

  private byte[] bytes(int at, int length) {
    byte[] copy = new byte[length];
    buffer.get(at, copy);
    return copy;
  }

  private void need(int bytes, int fixed) {
    if (bytes < MessageWriter.HEADER_BYTES + fixed) {
      throw new WireException(type + " of " + bytes + " bytes is cut short");
    }
  }

  private int checkedLists() {
    if (setCount > MessageWriter.MAX_SET
        || requestIdLength > MessageWriter.MAX_REQUEST_ID_BYTES
        || payloadLength > MessageWriter.MAX_PAYLOAD_BYTES) {
      throw new WireException(
          "%s with %d generations, a request id of %d and a payload of %d bytes"
              .formatted(type, setCount, requestIdLength, payloadLength));
    }
    return setCount * 4 + requestIdLength + payloadLength;
  }
}
