/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.memory.Device;
import dev.hawser.memory.InvalidMemoryException;
import org.jspecify.annotations.Nullable;

/**
 * Where the bytes lie.
 *
 * @param text as users and reports write it
 * @param device that has them
 */
public record MemoryKind(String text, Device device) {
  /** Host memory that the registry allocated: peers on the same host can map it. */
  public static final MemoryKind HOST = new MemoryKind("host", Device.HOST);

  /** Host memory that the application allocated itself and registered: it cannot be mapped. */
  public static final MemoryKind MALLOC = new MemoryKind("malloc", Device.HOST);

  /**
   * Reads what {@link #text} writes.
   *
   * @throws IllegalArgumentException with a message that says what there is
   */
  public static MemoryKind parse(String text) {
    if (text.equals(HOST.text)) {
      return HOST;
    }
    if (text.equals(MALLOC.text)) {
      return MALLOC;
    }
    try {
      Device device = Device.parse(text);
      if (!device.isHost()) {
        return new MemoryKind(device.toString(), device);
      }
    } catch (InvalidMemoryException e) {
      throw unknown(text, e);
    }
    throw unknown(text, null);
  }

  private static IllegalArgumentException unknown(String text, @Nullable Throwable cause) {
    return new IllegalArgumentException(
        "'" + text + "' is no memory that this build can measure; it can host, malloc and that of a GPU, as cuda:0",
        cause);
  }
}
