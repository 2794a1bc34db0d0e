/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import dev.hawser.engine.net.RawMemory;

/**
 * How a port is: {@code struct ibv_port_attr}.
 *
 * @param state one of {@link VerbsAbi.PortState}
 * @param activeMtu one of {@link VerbsAbi.Mtu}
 * @param gids length of the GID table
 * @param maxMessageBytes of one work request, unsigned
 * @param pkeys length of the table of partition keys
 * @param lid the local identifier on InfiniBand, 0 on Ethernet
 * @param linkLayer one of {@link VerbsAbi.LinkLayer}
 * @param bitsPerSecond the nominal rate; 0 if unknown
 */
public record PortAttributes(
    int state, int activeMtu, int gids, long maxMessageBytes, int pkeys, int lid, int linkLayer, long bitsPerSecond) {

  static PortAttributes read(long attr) {
    return new PortAttributes(
        RawMemory.u32(attr + VerbsAbi.PortAttr.STATE),
        RawMemory.u32(attr + VerbsAbi.PortAttr.ACTIVE_MTU),
        RawMemory.u32(attr + VerbsAbi.PortAttr.GID_TBL_LEN),
        Integer.toUnsignedLong(RawMemory.u32(attr + VerbsAbi.PortAttr.MAX_MSG_SZ)),
        RawMemory.u16(attr + VerbsAbi.PortAttr.PKEY_TBL_LEN),
        RawMemory.u16(attr + VerbsAbi.PortAttr.LID),
        RawMemory.u8(attr + VerbsAbi.PortAttr.LINK_LAYER),
        lanes(RawMemory.u8(attr + VerbsAbi.PortAttr.ACTIVE_WIDTH))
            * megabits(RawMemory.u8(attr + VerbsAbi.PortAttr.ACTIVE_SPEED))
            * 1_000_000);
  }

  /** Whether it carries traffic. */
  public boolean active() {
    return state == VerbsAbi.PortState.ACTIVE;
  }

  /** The state's name. */
  public String stateName() {
    return stateName(state);
  }

  /** The name of one of {@link VerbsAbi.PortState}. */
  public static String stateName(int state) {
    return switch (state) {
      case VerbsAbi.PortState.NOP -> "NOP";
      case VerbsAbi.PortState.DOWN -> "DOWN";
      case VerbsAbi.PortState.INIT -> "INIT";
      case VerbsAbi.PortState.ARMED -> "ARMED";
      case VerbsAbi.PortState.ACTIVE -> "ACTIVE";
      case VerbsAbi.PortState.ACTIVE_DEFER -> "ACTIVE_DEFER";
      default -> "state " + state;
    };
  }

  /** Whether there is Ethernet under it. */
  public boolean ethernet() {
    return linkLayer == VerbsAbi.LinkLayer.ETHERNET;
  }

  // The codes of active_width and active_speed: InfiniBand specification, PortInfo.
  private static long lanes(int width) {
    return switch (width) {
      case 1 -> 1;
      case 2 -> 4;
      case 4 -> 8;
      case 8 -> 12;
      case 16 -> 2;
      default -> 0;
    };
  }

  private static long megabits(int speed) {
    return switch (speed) {
      case 1 -> 2_500;
      case 2 -> 5_000;
      case 4, 8 -> 10_000;
      case 16 -> 14_000;
      case 32 -> 25_000;
      case 64 -> 50_000;
      case 128 -> 100_000;
      default -> 0;
    };
  }
}
