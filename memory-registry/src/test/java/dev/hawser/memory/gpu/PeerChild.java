/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.hawser.memory.cuda.Cuda;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;

/**
 * Another process with memory on the GPU: fills it, prints its handle, waits for a line, and says whether the memory is
 * what the other side should have made of it.
 */
final class PeerChild {
  static final int BYTES = 8 << 20;
  static final int BLOCK = 4096;
  private static final Duration DEADLINE = Duration.ofSeconds(30);

  private PeerChild() {}

  /** Byte {@code i} as the owner writes it. */
  static byte first(int i) {
    return (byte) ((i * 7L + 3) % 251);
  }

  /** Byte {@code i} after the other side has turned the bits of every second block. */
  static byte last(int i) {
    return (byte) (i / BLOCK % 2 == 0 ? ~first(i) : first(i));
  }

  /** Runs it. */
  public static void main(String[] args) throws IOException {
    Gpu gpu = Cuda.memory().gpu(0);
    try (GpuStream stream = gpu.newStream();
        GpuBuffer memory = gpu.allocate(BYTES + 4096);
        GpuBuffer pinned = gpu.allocateHost(BYTES)) {
      MemorySegment host = Native.ALL.asSlice(pinned.address(), BYTES);
      for (int i = 0; i < BYTES; i++) {
        host.set(JAVA_BYTE, i, first(i));
      }
      stream.copy(pinned.address(), memory.address() + 4096, BYTES);
      stream.await(DEADLINE);
      IpcExport export = gpu.export(memory.address() + 4096);
      System.out.println("handle " + HexFormat.of().formatHex(export.handle().bytes()) + " " + export.offset());
      new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
      stream.copy(memory.address() + 4096, pinned.address(), BYTES);
      stream.await(DEADLINE);
      int wrong = 0;
      for (int i = 0; i < BYTES; i++) {
        wrong += host.get(JAVA_BYTE, i) == last(i) ? 0 : 1;
      }
      System.out.println(wrong == 0 ? "right" : wrong + " bytes are wrong");
    }
  }
}
