/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What an agent publishes about its tcp rails: a u8 version, the host's identity, and the numeric address of each rail;
 * texts are a u16 length and UTF-8.
 *
 * @param host tells whether two agents share a loopback interface: boot id and network name space
 * @param rails one address for each
 */
record TcpDescription(String host, List<String> rails) {
  private static final int VERSION = 1;

  TcpDescription {
    rails = List.copyOf(rails);
  }

  byte[] encode() {
    ByteBuffer out = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
    out.put((byte) VERSION);
    put(out, host);
    out.putShort((short) rails.size());
    rails.forEach(rail -> put(out, rail));
    byte[] bytes = new byte[out.position()];
    out.flip().get(bytes);
    return bytes;
  }

  private static void put(ByteBuffer out, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.putShort((short) bytes.length).put(bytes);
  }

  /**
   * Reads a description.
   *
   * @throws IllegalArgumentException if it is not one
   */
  static TcpDescription decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try {
      int version = in.get();
      if (version != VERSION) {
        throw new IllegalArgumentException("version " + version + " of a tcp description is not known");
      }
      String host = text(in);
      List<String> rails = new ArrayList<>();
      for (int left = in.getShort() & 0xffff; left > 0; left--) {
        rails.add(text(in));
      }
      return new TcpDescription(host, rails);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("a tcp description of " + bytes.length + " bytes is cut short", e);
    }
  }

  private static String text(ByteBuffer in) {
    byte[] bytes = new byte[in.getShort() & 0xffff];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
