/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

/**
 * What the two ends of a path say to each other about memory; the engine never sees it. One slot of a {@link CommandRing}:
 *
 * <pre>
 *  0 u32 kind    4 u32 region   8 i32 fd       12 u32 access
 * 16 u64 address               24 u64 length
 * 32 u64 offset in the file    40 u64 bytes of the file
 * 48 u64 device of the file    56 u64 inode of the file
 * </pre>
 */
public final class Command {
  public static final int BYTES = 64;

  /** Initiator: may I use this region? Has region only. */
  public static final int MAP = 1;

  /**
   * Target: yes; it is held until you say RELEASED. With {@code fd} −1 it cannot be mapped, but copied by the kernel; or, if
   * {@code offset} has the number of a device, only moved by the target.
   */
  public static final int GRANT = 2;

  /** Target: no; {@code access} has the number of a {@link Refusal}. */
  public static final int REFUSE = 3;

  /** Target: it is closing; use it no more, then say so. */
  public static final int REVOKE = 4;

  /** Initiator: I shall not touch it again. */
  public static final int RELEASED = 5;

  /** Initiator: a request was refused, before anything that I publish after this; {@code address} has its transfer. */
  public static final int REFUSED = 6;

  /**
   * Initiator: I live; what I sent waits behind data that are under way. That it is read tells the initiator that the target
   * lives, too.
   */
  public static final int ALIVE = 7;

  /**
   * Target: here is memory of the host for regions of a device that the initiator cannot reach. {@code region} has the device's
   * number; the file holds slots, and behind them their tables (see {@code SharedSlots}).
   */
  public static final int SLOTS = 8;

  /**
   * Initiator: move the bytes of a slot ({@code region}) from or to the places that its table lists. {@code access} has 2 for
   * to, 1 for from those places, {@code address} the device's number, {@code offset} the entries of the table, {@code length}
   * their bytes.
   */
  public static final int MOVE = 9;

  /** Target: they are moved. {@code region} and {@code address} as in {@link #MOVE}. */
  public static final int MOVED = 10;

  /** Why a region is not lent. */
  public enum Refusal {
    /** There is no such region, or it is closing. */
    CLOSED(1),
    /** Peers may do nothing with it, or it is no host memory. */
    NOT_PERMITTED(2),
    /** It cannot be mapped, and copying by the kernel is switched off there. */
    NOT_MAPPABLE(3);

    private final int number;

    Refusal(int number) {
      this.number = number;
    }

    public int number() {
      return number;
    }
  }

  public int kind;
  public int region;
  public int fd;
  public int access;
  public long address;
  public long length;
  public long offset;
  public long fileBytes;
  public long device;
  public long inode;

  public Command set(int newKind, int newRegion) {
    kind = newKind;
    region = newRegion;
    fd = -1;
    access = 0;
    address = 0;
    length = 0;
    offset = 0;
    fileBytes = 0;
    device = 0;
    inode = 0;
    return this;
  }
}
