/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.nio.ByteBuffer;

/**
 * A registration's keys at one device. Longer memory than a device registers at once lies in slices of equal length, of
 * which the last may be shorter.
 */
final class DeviceKeys {
  private final long base;
  private final long sliceBytes;
  private final long[] regions; // struct ibv_mr *
  private final int[] localKeys;
  private final int[] remoteKeys;

  DeviceKeys(long base, long sliceBytes, long[] regions, int[] localKeys, int[] remoteKeys) {
    this.base = base;
    this.sliceBytes = sliceBytes;
    this.regions = regions;
    this.localKeys = localKeys;
    this.remoteKeys = remoteKeys;
  }

  /** The key for local use of the memory at {@code address}. */
  int localKey(long address) {
    return localKeys.length == 1 ? localKeys[0] : localKeys[(int) ((address - base) / sliceBytes)];
  }

  /** How many bytes from {@code address} on have the same key; the end of the registration is not looked at. */
  long reach(long address) {
    return localKeys.length == 1 ? Long.MAX_VALUE : sliceBytes - (address - base) % sliceBytes;
  }

  /** The registrations, 0 for one that was given back. */
  long[] regions() {
    return regions;
  }

  int bytes() {
    return Long.BYTES * 3 + Integer.BYTES * (1 + remoteKeys.length);
  }

  /** For peers, see {@link RemoteKeys}. */
  void encode(long device, ByteBuffer out) {
    out.putLong(device).putLong(base).putLong(sliceBytes).putInt(remoteKeys.length);
    for (int key : remoteKeys) {
      out.putInt(key);
    }
  }
}
