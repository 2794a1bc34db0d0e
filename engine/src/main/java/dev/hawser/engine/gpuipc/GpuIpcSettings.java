/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.text.WholeNumbers;
import java.util.Map;

/**
 * The transport's settings.
 *
 * @param chunkBytes {@code gpu-ipc.chunk-bytes}: the most bytes of one request to a device. Few and large ones keep it busy;
 *     four may be under way, and a cancel waits for them: 128 MiB take 60 µs within a device, 2.4 ms over PCIe
 */
record GpuIpcSettings(int chunkBytes) {
  private static final String CHUNK_BYTES = "chunk-bytes";
  private static final int DEFAULT_CHUNK_BYTES = 128 << 20;
  private static final int LEAST_CHUNK_BYTES = 64 << 10;
  private static final int MOST_CHUNK_BYTES = 1 << 30;

  /**
   * Reads them.
   *
   * @throws IllegalArgumentException if one is not what it can be; the message names it
   */
  static GpuIpcSettings of(Map<String, String> settings) {
    String text = settings.get(CHUNK_BYTES);
    if (text == null) {
      return new GpuIpcSettings(DEFAULT_CHUNK_BYTES);
    }
    return new GpuIpcSettings(
        (int) WholeNumbers.of("gpu-ipc." + CHUNK_BYTES, text, LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES));
  }
}
