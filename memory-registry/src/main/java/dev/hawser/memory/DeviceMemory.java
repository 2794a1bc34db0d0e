/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * The memory of one kind of GPU: who knows its allocations, makes and frees them, and works on them. Thread-safe.
 *
 * <p>Each method throws a {@link DriverException} where the driver refuses.
 */
public interface DeviceMemory extends AllocationFinder {
  /** The kind of device. */
  DeviceKind kind();

  /**
   * Allocates memory, which peers on the same machine can map.
   *
   * @param bytes at least 1
   * @return its address
   * @throws DeviceAbsentException if there is no such device
   */
  long allocate(Device device, long bytes);

  /** Frees what {@link #allocate} gave. Nothing may use it any more. */
  void free(Device device, long address);

  /**
   * Operations on one device, for one thread, with a stream of their own.
   *
   * @throws DeviceAbsentException if there is no such device
   */
  DeviceOps newOps(Device device);
}
