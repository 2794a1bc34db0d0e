/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.InvalidMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The devices of one driver, and their memory as a registry sees it. Thread-safe. */
public final class GpuMemory implements DeviceMemory {
  private final GpuDriver driver;
  private final List<Gpu> gpus;
  private final AdoptedMemories adopted;

  private GpuMemory(GpuDriver driver, List<Gpu> gpus, AdoptedMemories adopted) {
    this.driver = driver;
    this.gpus = gpus;
    this.adopted = adopted;
  }

  /** The devices that {@code driver} shows now. */
  public static GpuMemory of(GpuDriver driver) {
    DriverGate gate = new DriverGate();
    AdoptedMemories adopted = new AdoptedMemories();
    List<Gpu> gpus = new ArrayList<>();
    for (int ordinal = 0; ordinal < driver.deviceCount(); ordinal++) {
      gpus.add(new Gpu(driver, ordinal, gate, adopted));
    }
    return new GpuMemory(driver, List.copyOf(gpus), adopted);
  }

  /** The driver. */
  public GpuDriver driver() {
    return driver;
  }

  /** All devices. */
  public List<Gpu> gpus() {
    return gpus;
  }

  /**
   * One device.
   *
   * @throws DeviceAbsentException if there is none of that number
   */
  public Gpu gpu(int ordinal) {
    if (ordinal < 0 || ordinal >= gpus.size()) {
      throw new DeviceAbsentException(
          driver.kind(),
          driver.kind().word() + ":" + ordinal + " is not among the " + gpus.size() + " devices that "
              + driver.description()
              + " shows; they are numbered from 0, and "
              + (kind() == DeviceKind.CUDA ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES") + " hides some");
    }
    return gpus.get(ordinal);
  }

  /** One device. */
  public Gpu gpu(Device device) {
    if (device.kind() != driver.kind()) {
      throw new DeviceAbsentException(
          device.kind(), device + " is no device of " + driver.description());
    }
    return gpu(device.ordinal());
  }

  /** The device that is named so in every process; empty if this one does not see it. */
  public Optional<Gpu> byUuid(String uuid) {
    return gpus.stream().filter(gpu -> gpu.properties().uuid().equals(uuid)).findFirst();
  }

  @Override
  public DeviceKind kind() {
    return driver.kind();
  }

  /**
   * {@inheritDoc}
   *
   * @throws InvalidMemoryException if it is memory that no other process or NIC can be given, with the setting that would
   *     change that
   */
  @Override
  public Optional<Allocation> find(long address) {
    AdoptedMemory another = adopted.find(address);
    if (another != null) {
      return Optional.of(
          new Allocation(another.address(), another.length(), another.device(), another.bufferId()));
    }
    PointerInfo info = driver.pointer(address);
    return switch (info.memory()) {
      case UNKNOWN, HOST -> Optional.empty();
      case MANAGED -> throw new InvalidMemoryException(
          "address",
          hex(address) + " is managed memory, which the driver moves while others use it; allocate it with "
              + (kind() == DeviceKind.CUDA ? "cuMemAlloc or cudaMalloc" : "hipMalloc"));
      case FOREIGN -> throw new InvalidMemoryException("address", hex(address) + " is " + foreign(info));
      case DEVICE -> {
        requireShareable(info, address, kind());
        yield Optional.of(
            new Allocation(info.address(), info.length(), new Device(kind(), info.ordinal()), info.bufferId()));
      }
    };
  }

  @Override
  public long allocate(Device device, long bytes) {
    return gpu(device).call(d -> d.allocate(bytes));
  }

  @Override
  public void free(Device device, long address) {
    try {
      gpu(device).runAlone(d -> d.free(address));
    } catch (DriverException e) {
      if (!e.sticky()) {
        throw e;
      }
      // The device is lost to this process, and its memory with it: there is nothing to keep for anybody.
    }
  }

  @Override
  public DeviceOps newOps(Device device) {
    return GpuDeviceOps.on(gpu(device));
  }

  static void requireDevice(PointerInfo info, long address, Device device) {
    if (info.memory() != PointerInfo.Memory.DEVICE || info.ordinal() != device.ordinal()) {
      throw new InvalidMemoryException(
          "address",
          hex(address) + " is no memory of " + device + " but "
              + switch (info.memory()) {
                case UNKNOWN -> "memory that its driver does not know: the host's, or freed";
                case HOST -> "pinned memory of the host";
                case MANAGED -> "managed memory";
                case FOREIGN -> foreign(info);
                case DEVICE -> "memory of device " + info.ordinal();
              });
    }
  }

  private static String foreign(PointerInfo info) {
    return "memory of device " + info.ordinal()
        + " in another context than its primary one; allocate it where cuDevicePrimaryCtxRetain's context is current, as the"
        + " CUDA runtime and PyTorch do";
  }

  /** Refuses what cannot be opened by another process in any way. */
  static void requireShareable(PointerInfo info, long address, DeviceKind kind) {
    if (info.sharing() != PointerInfo.Sharing.PARTS) {
      requireIpc(info, address, kind);
    }
  }

  /** Refuses what has no handle of its own. */
  static void requireIpc(PointerInfo info, long address, DeviceKind kind) {
    String cure = kind == DeviceKind.CUDA ? "allocate it with cuMemAlloc or cudaMalloc" : "allocate it with hipMalloc";
    String setting = kind == DeviceKind.CUDA ? "PYTORCH_CUDA_ALLOC_CONF" : "PYTORCH_HIP_ALLOC_CONF";
    switch (info.sharing()) {
      case IPC -> {
        // as it should be
      }
      case PARTS, PARTS_REFUSED -> throw new InvalidMemoryException(
          "address",
          hex(address)
              + " is virtual memory (an expandable segment) without a handle for other processes; with PyTorch set "
              + setting + "=expandable_segments:False, else " + cure);
      case POOL -> throw new InvalidMemoryException(
          "address",
          hex(address) + " is memory of a stream-ordered pool without a handle for other processes; with PyTorch set "
              + setting + "=backend:native, else " + cure);
      case NONE -> throw new InvalidMemoryException(
          "address", hex(address) + " has no handle for other processes; " + cure);
    }
  }

  private static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }

  @Override
  public String toString() {
    return driver.description() + ", " + gpus.size() + " devices";
  }
}
