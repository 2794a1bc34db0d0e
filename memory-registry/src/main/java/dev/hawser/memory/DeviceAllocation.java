/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Memory of a GPU that the registry allocated. */
final class DeviceAllocation extends OwnedAllocation {
  private final DeviceMemory memory;
  private final Device device;
  private final long address;
  private final long bytes;

  DeviceAllocation(DeviceMemory memory, Device device, long address, long bytes) {
    this.memory = memory;
    this.device = device;
    this.address = address;
    this.bytes = bytes;
  }

  @Override
  long address() {
    return address;
  }

  @Override
  long bytes() {
    return bytes;
  }

  @Override
  void free() {
    memory.free(device, address);
  }
}
