/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What an agent publishes about its rails: u8 version, u16 count, and for each rail a u8 link layer, a u8 GID type, the
 * GID's 16 bytes and its name (u16 length, UTF-8).
 *
 * @param rails what there is
 */
record VerbsDescription(List<Entry> rails) {
  private static final int VERSION = 1;
  private static final int MAX_BYTES = 4096;

  /**
   * A rail.
   *
   * @param name as the peer names it
   * @param linkLayer one of {@link VerbsAbi.LinkLayer}
   * @param gid the GID that it speaks by
   */
  record Entry(String name, int linkLayer, GidAttributes gid) {
    boolean ethernet() {
      return linkLayer == VerbsAbi.LinkLayer.ETHERNET;
    }

    /** Why nothing can go from {@code this} to {@code other}; empty if something can. */
    String obstacle(Entry other) {
      if (linkLayer != other.linkLayer) {
        return name + " is " + layer() + ", the peer's " + other.name + " is " + other.layer();
      }
      if (gid.empty() || other.gid.empty()) {
        return ""; // a port that is down: what it will have is seen when a path is made
      }
      if (ethernet() && (gid.type() == VerbsAbi.GidType.ROCE_V1) != (other.gid.type() == VerbsAbi.GidType.ROCE_V1)) {
        return name + " speaks " + gid.typeName() + ", the peer's " + other.name + " " + other.gid.typeName()
            + " (verbs.gid-index)";
      }
      if (ethernet() && gid.ipv4() != other.gid.ipv4()) {
        return name + " has the GID " + gid + ", the peer's " + other.name + " " + other.gid
            + ": one is IPv4, the other IPv6 (verbs.gid-index)";
      }
      return "";
    }

    private String layer() {
      return ethernet() ? "Ethernet" : "InfiniBand";
    }
  }

  VerbsDescription {
    rails = List.copyOf(rails);
  }

  byte[] encode() {
    ByteBuffer out = ByteBuffer.allocate(MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    out.put((byte) VERSION).putShort((short) rails.size());
    for (Entry rail : rails) {
      byte[] name = rail.name().getBytes(StandardCharsets.UTF_8);
      out.put((byte) rail.linkLayer()).put((byte) rail.gid().type()).put(rail.gid().gid());
      out.putShort((short) name.length).put(name);
    }
    byte[] bytes = new byte[out.position()];
    out.flip().get(bytes);
    return bytes;
  }

  /**
   * Reads a description.
   *
   * @throws IllegalArgumentException if it is not one
   */
  static VerbsDescription decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try {
      int version = in.get();
      if (version != VERSION) {
        throw new IllegalArgumentException("version " + version + " of a verbs description is not known");
      }
      List<Entry> rails = new ArrayList<>();
      for (int left = in.getShort() & 0xffff; left > 0; left--) {
        int layer = in.get();
        int type = in.get();
        byte[] gid = new byte[16];
        in.get(gid);
        byte[] name = new byte[in.getShort() & 0xffff];
        in.get(name);
        rails.add(
            new Entry(new String(name, StandardCharsets.UTF_8), layer, new GidAttributes(-1, gid, type)));
      }
      return new VerbsDescription(rails);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("a verbs description of " + bytes.length + " bytes is cut short", e);
    }
  }
}
