/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.cuda.Cuda;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;

/** Loses its device by a kernel that touches what it may not, and says what becomes of everything else, a line for each. */
final class LostDeviceChild {
  private static final long BYTES = 1 << 20;

  private LostDeviceChild() {}

  /** Runs it. */
  public static void main(String[] arguments) {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      run(Cuda.memory().gpu(0), registry, System.out);
    }
    System.out.println("closed");
  }

  /** Loses a device, whose driver the registry knows. */
  static void run(Gpu gpu, MemoryRegistry registry, PrintStream out) {
    Region ours = registry.allocate(BYTES, gpu.device(), Access.REMOTE_READ_WRITE);
    try {
      GpuDeviceOps ops = GpuDeviceOps.on(gpu);
      ops.copy(
          BlockPairs.of(
              BlockList.strided(1L << 45, 8192, 4096, 4, gpu.device()),
              BlockList.strided(ours.address(), 4096, 4096, 4, gpu.device())),
          CopyDirection.LOCAL_TO_REMOTE);
      ops.finish();
      out.println("kernel: nothing happened");
    } catch (DriverException e) {
      out.println("kernel: " + told(e));
    }
    try {
      out.println("allocate: " + registry.allocate(BYTES, gpu.device(), Access.LOCAL));
    } catch (DriverException e) {
      out.println("allocate: " + told(e));
    }
    try (Region from = registry.allocate(BYTES, Access.REMOTE_READ);
        Region to = registry.allocate(BYTES, Access.REMOTE_READ_WRITE);
        DeviceOps host = registry.newDeviceOps(Device.HOST)) {
      from.segment().fill((byte) 42);
      host.copy(from.address(), to.address(), BYTES);
      host.finish();
      boolean right = to.segment().get(ValueLayout.JAVA_BYTE, BYTES - 1) == 42;
      out.println(right ? "host: copied" : "host: not copied");
    }
  }

  private static String told(DriverException e) {
    return (e.sticky() ? "sticky " : "not sticky ") + e.getMessage();
  }
}
