/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Memory that the registry allocated, and frees when no registration is left in it. */
abstract sealed class OwnedAllocation permits HostAllocation, DeviceAllocation {
  private int registrations; // guarded by the registry's lock

  abstract long address();

  abstract long bytes();

  final void addRegistration() {
    registrations++;
  }

  /** True if it was the last. */
  final boolean removeRegistration() {
    registrations--;
    return registrations == 0;
  }

  /**
   * Gives the memory back.
   *
   * @throws IllegalStateException if a native call still uses it; nothing has happened then
   * @throws DriverException if the driver of its device refuses
   */
  abstract void free();
}
