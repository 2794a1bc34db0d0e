/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.RemoteRegion;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a peer's memory at the one device of the peer that a path leads to, as read from what the peer published: u8
 * version, u8 devices, and for each a u64 device, u64 first address, u64 slice length, u32 slices and a u32 key for each
 * slice. What was read is kept for the regions used last, so that looking one up again allocates nothing.
 *
 * <p>Owner thread only.
 */
final class RemoteKeys {
  static final int VERSION = 1;
  static final int HEADER_BYTES = 2;
  private static final int DEVICE_BYTES = 3 * Long.BYTES + Integer.BYTES;
  private static final int ENTRIES = 256;
  private static final int STAGED = -2;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private final long device;
  private final @Nullable RemoteRegion[] regions = new @Nullable RemoteRegion[ENTRIES];
  private final byte[][] blobs = new byte[ENTRIES][];
  private final int[] at = new int[ENTRIES];

  // Of the region that was selected last.
  private @Nullable RemoteRegion selected;
  private boolean usable;
  private boolean staged;
  private byte[] blob = new byte[0];
  private int first;
  private int slices;
  private long base;
  private long sliceBytes;

  RemoteKeys(long device) {
    this.device = device;
  }

  /** Goes to a region: false if the peer published no key of it for this path. */
  @SuppressWarnings("ReferenceEquality") // the same object has the same keys; comparing values would cost more than the rest
  boolean select(RemoteRegion region) {
    if (region == selected) {
      return usable;
    }
    int entry = System.identityHashCode(region) & (ENTRIES - 1);
    if (regions[entry] != region) {
      byte[] keys = region.keys().get(VerbsTransport.NAME);
      regions[entry] = region;
      blobs[entry] = keys == null ? new byte[0] : keys;
      at[entry] = keys == null ? -1 : find(keys);
    }
    selected = region;
    usable = at[entry] >= 0;
    staged = at[entry] == STAGED;
    if (usable) {
      blob = blobs[entry];
      int offset = at[entry];
      base = (long) LONG.get(blob, offset + 8);
      sliceBytes = (long) LONG.get(blob, offset + 16);
      slices = (int) INT.get(blob, offset + 24);
      first = offset + DEVICE_BYTES;
    }
    return usable;
  }

  /** Whether the region that was selected last has no key because no NIC there registers it: it goes through slots. */
  boolean isStaged() {
    return staged;
  }

  /** What is published of memory that no NIC registers. */
  static byte[] staged() {
    return new byte[] {VERSION, 0};
  }

  /** Where this path's device begins in the blob; −1 if it is not there or the blob is damaged. */
  private int find(byte[] keys) {
    if (keys.length < HEADER_BYTES || keys[0] != VERSION) {
      return -1;
    }
    if (keys[1] == 0 && keys.length == HEADER_BYTES) {
      return STAGED;
    }
    int offset = HEADER_BYTES;
    for (int left = keys[1] & 0xff; left > 0; left--) {
      if (keys.length - offset < DEVICE_BYTES) {
        return -1;
      }
      int count = (int) INT.get(keys, offset + 24);
      long length = (long) LONG.get(keys, offset + 16);
      if (count < 1 || length < 1 || count > (keys.length - offset - DEVICE_BYTES) / Integer.BYTES) {
        return -1;
      }
      if ((long) LONG.get(keys, offset) == device) {
        return offset;
      }
      offset += DEVICE_BYTES + count * Integer.BYTES;
    }
    return -1;
  }

  /** The selected region's key for {@code address}. */
  int key(long address) {
    return slices == 1 ? (int) INT.get(blob, first) : (int) INT.get(blob, first + Integer.BYTES * slice(address));
  }

  /** A peer may be told any address: what lies outside gets the key of an end, and the peer's device refuses it. */
  private int slice(long address) {
    return (int) Math.max(0, Math.min(slices - 1, (address - base) / sliceBytes));
  }

  /** How many bytes from {@code address} on have the same key. */
  long reach(long address) {
    if (slices == 1) {
      return Long.MAX_VALUE;
    }
    int slice = slice(address);
    return slice == slices - 1 ? Long.MAX_VALUE : Math.max(1, base + (slice + 1) * sliceBytes - address);
  }
}
