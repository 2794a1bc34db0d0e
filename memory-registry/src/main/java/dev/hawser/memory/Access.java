/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * What peers may do with a region. The owner may always read it, and write it unless the memory itself is read-only.
 *
 * @param mask bit 0: peers may read; bit 1: peers may write. This is also the form on the wire
 */
public record Access(int mask) {
  /** Peers may do nothing: memory for local blocks only. */
  public static final Access LOCAL = new Access(0);

  /** Peers may read. */
  public static final Access REMOTE_READ = new Access(1);

  /** Peers may write. */
  public static final Access REMOTE_WRITE = new Access(2);

  /** Peers may read and write. */
  public static final Access REMOTE_READ_WRITE = new Access(3);

  /**
   * Access by its bits.
   *
   * @throws InvalidMemoryException if there are others than bits 0 and 1
   */
  public Access {
    if ((mask & ~3) != 0) {
      throw new InvalidMemoryException("mask",
          "0x" + Integer.toHexString(mask) + " has access bits other than 1 and 2");
    }
  }

  /** Both this and {@code other}. */
  public Access and(Access other) {
    return new Access(mask | other.mask);
  }

  /** Whether everything that {@code wanted} asks is granted. */
  public boolean allows(Access wanted) {
    return (wanted.mask & ~mask) == 0;
  }

  /** Whether peers may read. */
  public boolean remoteReadable() {
    return (mask & 1) != 0;
  }

  /** Whether peers may write. */
  public boolean remoteWritable() {
    return (mask & 2) != 0;
  }

  @Override
  public String toString() {
    return switch (mask) {
      case 0 -> "local";
      case 1 -> "remote-read";
      case 2 -> "remote-write";
      default -> "remote-read-write";
    };
  }
}
