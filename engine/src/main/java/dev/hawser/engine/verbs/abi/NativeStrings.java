/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import dev.hawser.engine.net.RawMemory;
import java.nio.charset.StandardCharsets;

/** C strings. */
final class NativeStrings {
  private NativeStrings() {}

  /** The string at {@code address}, of at most {@code max} bytes. */
  static String at(long address, int max) {
    byte[] bytes = new byte[max];
    int length = 0;
    while (length < max) {
      int b = RawMemory.u8(address + length);
      if (b == 0) {
        break;
      }
      bytes[length++] = (byte) b;
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
