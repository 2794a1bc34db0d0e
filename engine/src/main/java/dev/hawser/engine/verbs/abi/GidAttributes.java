/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/**
 * An entry of a port's GID table.
 *
 * @param index where it stands
 * @param gid its 16 bytes; not to be changed
 * @param type one of {@link VerbsAbi.GidType}; −1 if it is not known
 */
@SuppressWarnings("ArrayRecordComponent") // sixteen bytes that go to the device as they are; entries are never compared
public record GidAttributes(int index, byte[] gid, int type) {
  private static final byte[] IPV4_MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff};
  private static final byte[] EMPTY = new byte[16];

  /** Of a port that has none. */
  public static final GidAttributes NONE = new GidAttributes(-1, EMPTY, -1);

  /** Whether there is nothing at this index. */
  public boolean empty() {
    return Arrays.equals(gid, EMPTY);
  }

  /** Whether it is an IPv4 address. */
  public boolean ipv4() {
    return Arrays.equals(gid, 0, IPV4_MAPPED.length, IPV4_MAPPED, 0, IPV4_MAPPED.length);
  }

  /** Whether it is an IPv6 address of one link only. */
  public boolean linkLocal() {
    return (gid[0] & 0xff) == 0xfe && (gid[1] & 0xc0) == 0x80;
  }

  /** As text: {@code 10.0.0.1} or {@code fe80::…}. */
  public static String text(byte[] gid) {
    try {
      return InetAddress.getByAddress(gid).getHostAddress();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("a GID has 16 bytes, not " + gid.length, e);
    }
  }

  /** The type's name. */
  public String typeName() {
    return switch (type) {
      case VerbsAbi.GidType.IB -> "InfiniBand";
      case VerbsAbi.GidType.ROCE_V1 -> "RoCE v1";
      case VerbsAbi.GidType.ROCE_V2 -> "RoCE v2";
      default -> "unknown type";
    };
  }

  @Override
  public String toString() {
    return empty() ? "none" : text(gid) + " (index " + index + ", " + typeName() + ")";
  }
}
