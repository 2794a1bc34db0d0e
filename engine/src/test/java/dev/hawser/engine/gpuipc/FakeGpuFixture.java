/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.memory.Access;
import dev.hawser.memory.AllocationOptions;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.HugePages;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/** Memory of fake devices, whose driver each process has once. */
public abstract class FakeGpuFixture implements Fixture {
  private static final FakeCuda CUDA = new FakeCuda(new FakeGpu(2, 64L << 30).workInBackground());
  private static final GpuMemory MEMORY = CUDA.start();

  private final Device local;
  private final Device remote;

  /** Memory here and there. */
  protected FakeGpuFixture(Device local, Device remote) {
    this.local = local;
    this.remote = remote;
  }

  @Override
  public String transport() {
    return GpuIpcTransport.NAME;
  }

  /** Small chunks: a fake device is a slow one. */
  @Override
  public Map<String, String> settings() {
    return Map.of("gpu-ipc.chunk-bytes", Integer.toString(4 << 20));
  }

  @Override
  public boolean mapped() {
    return true;
  }

  @Override
  public MemoryRegistry.Builder registry() {
    return MemoryRegistry.builder().allocations(DeviceKind.CUDA, MEMORY);
  }

  @Override
  @SuppressWarnings("restricted") // a fake device's memory is the process's
  public MemorySegment bytes(Region region) {
    return region.device().isHost()
        ? region.segment()
        : MemorySegment.ofAddress(region.address()).reinterpret(region.length());
  }

  @Override
  public Region register(MemoryRegistry registry, Arena arena, long bytes, Access access) {
    return registry.allocate(bytes, access.equals(Access.LOCAL) ? local : remote, access);
  }

  @Override
  public Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) {
    return remote.isHost()
        ? registry.allocate(bytes, access, new AllocationOptions(HugePages.NO, false))
        : registry.allocate(bytes, remote, access);
  }

  /** From device to device. */
  static final class OneDevice extends FakeGpuFixture {
    OneDevice() {
      super(Device.cuda(0), Device.cuda(0));
    }
  }

  /** Between two devices. */
  static final class TwoDevices extends FakeGpuFixture {
    TwoDevices() {
      super(Device.cuda(0), Device.cuda(1));
    }
  }

  /** The initiator's is the host's. */
  static final class HostHere extends FakeGpuFixture {
    HostHere() {
      super(Device.HOST, Device.cuda(0));
    }
  }

  /** The target's is the host's. */
  static final class HostThere extends FakeGpuFixture {
    HostThere() {
      super(Device.cuda(1), Device.HOST);
    }
  }
}
