/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/**
 * What a driver knows of an address.
 *
 * @param memory whose memory it is
 * @param ordinal the device, where it is a device's
 * @param address first byte of the allocation
 * @param length bytes of the allocation
 * @param bufferId the allocation's number, never used twice; 0 where there is none
 * @param sharing how other processes can open the allocation
 */
public record PointerInfo(
    Memory memory, int ordinal, long address, long length, long bufferId, Sharing sharing) {
  /** An address that the driver does not know: pageable host memory, or none at all. */
  public static final PointerInfo UNKNOWN = new PointerInfo(Memory.UNKNOWN, 0, 0, 0, 0, Sharing.NONE);

  /** Whose memory. */
  public enum Memory {
    /** The driver does not know it. */
    UNKNOWN,
    /** Pinned memory of the host. */
    HOST,
    /** Memory of a device. */
    DEVICE,
    /** Memory of a device that a context of its own holds: no stream or kernel of the primary context may touch it. */
    FOREIGN,
    /** Memory that the driver moves between host and devices. */
    MANAGED
  }

  /** How other processes can open an allocation. */
  public enum Sharing {
    /** Not at all. */
    NONE,
    /** By {@link GpuDriver#exportMemory}. */
    IPC,
    /** Virtual memory whose physical parts can be exported as file descriptors, each on its own. */
    PARTS,
    /** Virtual memory that was made without the right to export it. */
    PARTS_REFUSED,
    /** Memory of a stream-ordered pool. */
    POOL
  }

  /** Whether {@code bytes} bytes at {@code from} lie in the allocation. */
  public boolean covers(long from, long bytes) {
    return from >= address && bytes <= length && from - address <= length - bytes;
  }
}
