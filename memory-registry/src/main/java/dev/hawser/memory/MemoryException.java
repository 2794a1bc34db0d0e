/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Something that the memory registry refused or could not do. Each kind of failure is a type of its own. */
public abstract sealed class MemoryException extends RuntimeException
    permits InvalidMemoryException,
    InvalidBlocksException,
    AllocationException,
    DeviceAbsentException,
    DriverException,
    RegionInUseException,
    RegistrationException,
    RegistryClosedException {
  private static final long serialVersionUID = 1L;

  MemoryException(String message) {
    super(message);
  }

  MemoryException(String message, Throwable cause) {
    super(message, cause);
  }
}
