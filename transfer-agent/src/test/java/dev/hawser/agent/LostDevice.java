/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.gpu.GpuDeviceOps;
import dev.hawser.memory.gpu.GpuMemory;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;

/**
 * Two agents whose device is lost by a kernel of the user's that touches what it may not: says in a line each what becomes of
 * transfers of its memory, and of the host's. In a process of its own where the device is a real one.
 */
final class LostDevice {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int BYTES = 1 << 20;

  private LostDevice() {}

  /** Loses a real device. */
  public static void main(String[] transports) {
    run(Cuda.memory(), System.out, transports);
    System.out.println("closed");
  }

  static void run(GpuMemory memory, PrintStream out, String... transports) {
    try (Agent here = start("lost-here", memory, transports);
        Agent there = start("lost-there", memory, transports)) {
      Device device = memory.gpu(0).device();
      Region local = here.allocate("device", BYTES, device, Access.LOCAL);
      Region remote = there.allocate("device", BYTES, device, Access.REMOTE_READ_WRITE);
      Region from = here.allocate("host", BYTES);
      Region to = there.allocate("host", BYTES);
      from.segment().fill((byte) 42);
      there.addPeer(here.metadata());
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(PATIENCE);
      out.println("before: " + write(here, peer, local, remote));
      lose(memory);
      out.println("device: " + write(here, peer, local, remote));
      out.println("host: " + write(here, peer, from, to));
      out.println("bytes: " + to.segment().get(ValueLayout.JAVA_BYTE, BYTES - 1));
    }
  }

  private static Agent start(String name, GpuMemory memory, String... transports) {
    HawserConfig config =
        HawserConfig.builder().environment(Map.of()).name(name).transports(transports).build();
    return Agent.builder(config)
        .registry(() -> MemoryRegistry.builder().allocations(DeviceKind.CUDA, memory).build())
        .start();
  }

  private static void lose(GpuMemory memory) {
    Device device = memory.gpu(0).device();
    GpuDeviceOps ops = GpuDeviceOps.on(memory.gpu(0));
    try {
      ops.copy(
          BlockPairs.of(
              BlockList.strided(1L << 45, 8192, 4096, 4, device), BlockList.strided(1L << 46, 4096, 4096, 4, device)),
          CopyDirection.LOCAL_TO_REMOTE);
      ops.finish();
      throw new IllegalStateException("a kernel touched what it may not, and nothing happened");
    } catch (DriverException e) {
      if (!e.sticky()) {
        throw e;
      }
    }
  }

  private static String write(Agent agent, Peer peer, Region local, Region remote) {
    PreparedTransfer write =
        agent.prepare(Operation.WRITE, BlockList.of(local.address(), BYTES, local.device()), null, peer,
            BlockList.of(remote.address(), BYTES, remote.device()), null).flush(true).timeout(PATIENCE);
    write.post();
    long deadline = System.nanoTime() + 2 * PATIENCE.toNanos();
    while (!write.poll() && System.nanoTime() - deadline < 0) {
      Thread.onSpinWait();
    }
    return String.valueOf(write.end());
  }
}
