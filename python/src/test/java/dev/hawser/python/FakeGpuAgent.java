/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.python;

import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import dev.hawser.sidecar.Sidecar;
import java.io.IOException;
import java.nio.file.Path;

/**
 * What {@code hawser agent} is, on a machine with two GPUs that are none: takes a socket's path. For each byte that it
 * reads it says how much memory of other processes is open, and how often some was opened; it ends with its input.
 */
final class FakeGpuAgent {
  private FakeGpuAgent() {}

  public static void main(String[] arguments) throws IOException {
    FakeGpu gpu = new FakeGpu(2, 1L << 30).workInBackground();
    try (Sidecar _ = Sidecar.start(Path.of(arguments[0]), new FakeCuda(gpu).start())) {
      System.out.println("hawser agent: unix:" + arguments[0]);
      while (System.in.read() >= 0) {
        System.out.println(gpu.openedCount() + " " + gpu.calls("cuIpcOpenMemHandle_v2"));
      }
    }
  }
}
