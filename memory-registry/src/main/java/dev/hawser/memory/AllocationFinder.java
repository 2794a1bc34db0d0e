/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Optional;

/**
 * Finds the allocation that an address belongs to: the driver of a GPU knows. Registration is then by allocation, so
 * that ten thousand blocks inside one cost one binding per transport.
 *
 * <p>Thread-safe. Source: cuMemGetAddressRange, cuPointerGetAttribute (CU_POINTER_ATTRIBUTE_BUFFER_ID) in the CUDA driver
 * API, and their HIP twins.
 */
public interface AllocationFinder {
  /** The allocation around {@code address}, or empty if this driver does not know the address. */
  Optional<Allocation> find(long address);

  /**
   * One allocation.
   *
   * @param address its first byte
   * @param length its bytes
   * @param device where it is
   * @param bufferId a number that no other allocation of the process ever had, so that a freed and reused address is not
   *     taken for the old one
   */
  record Allocation(long address, long length, Device device, long bufferId) {}
}
