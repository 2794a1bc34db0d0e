/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Published keys, for tests that damage them. */
final class Keys {
  private Keys() {}

  /** The same blob, with every key of every device changed. */
  static byte[] damaged(byte[] keys, int by) {
    ByteBuffer out = ByteBuffer.wrap(keys.clone()).order(ByteOrder.LITTLE_ENDIAN);
    out.position(RemoteKeys.HEADER_BYTES);
    for (int device = keys[1]; device > 0; device--) {
      out.position(out.position() + 3 * Long.BYTES);
      for (int left = out.getInt(); left > 0; left--) {
        int at = out.position();
        out.putInt(out.getInt(at) ^ 0x5500_5555 ^ by << 8);
      }
    }
    return out.array();
  }
}
