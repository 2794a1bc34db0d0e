/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Takes a frame's payload apart; every length is checked against what is there. */
final class PayloadReader {
  private final FrameType type;
  private final ByteBuffer in;

  PayloadReader(Frame frame) {
    this.type = frame.type();
    this.in = ByteBuffer.wrap(frame.payload()).order(ByteOrder.LITTLE_ENDIAN);
  }

  int u8(String what) throws MalformedFrameException {
    return need(1, what).get() & 0xff;
  }

  int u16(String what) throws MalformedFrameException {
    return need(2, what).getShort() & 0xffff;
  }

  int u32(String what) throws MalformedFrameException {
    return need(4, what).getInt();
  }

  long u64(String what) throws MalformedFrameException {
    return need(8, what).getLong();
  }

  byte[] raw(int length, String what) throws MalformedFrameException {
    byte[] bytes = new byte[length];
    need(length, what).get(bytes);
    return bytes;
  }

  byte[] bytes(int max, String what) throws MalformedFrameException {
    int length = u16(what);
    if (length > max) {
      throw new MalformedFrameException(
          type + ": " + what + " of " + length + " bytes; at most " + max + " are allowed");
    }
    return raw(length, what);
  }

  String text(int max, String what) throws MalformedFrameException {
    byte[] bytes = bytes(max, what);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new MalformedFrameException(type + ": " + what + " is not UTF-8");
    }
  }

  int position() {
    return in.position();
  }

  /** For all frames but those that a newer version may lengthen. */
  void end() throws MalformedFrameException {
    if (in.hasRemaining()) {
      throw new MalformedFrameException(type + ": " + in.remaining() + " bytes too many");
    }
  }

  private ByteBuffer need(int bytes, String what) throws MalformedFrameException {
    if (in.remaining() < bytes) {
      throw new MalformedFrameException(type + " ends within " + what);
    }
    return in;
  }
}
