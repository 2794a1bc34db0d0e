/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;

/** Arrays of {@code struct iovec} in native memory: address, then length, 8 bytes each. */
final class Places {
  static final int BYTES = 16;

  private Places() {}

  static long address(long place) {
    return RawMemory.u64(place);
  }

  static long length(long place) {
    return RawMemory.u64(place + 8);
  }

  static void set(long place, long address, long length) {
    RawMemory.u64(place, address);
    RawMemory.u64(place + 8, length);
  }

  static void length(long place, long length) {
    RawMemory.u64(place + 8, length);
  }

  /** Leaves out the first {@code bytes} bytes of a place. */
  static void advance(long place, long bytes) {
    set(place, address(place) + bytes, length(place) - bytes);
  }
}
