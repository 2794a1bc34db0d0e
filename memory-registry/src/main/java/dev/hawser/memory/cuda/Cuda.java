/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.ffi.LoadedLibraries;
import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.GpuMemory;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The CUDA driver of this machine: loaded and started on first use, once. Thread-safe. */
public final class Cuda {
  private static final String LIBRARY = "libcuda.so.1";

  private static @Nullable GpuMemory memory; // guarded by the class
  private static @Nullable String absence; // guarded by the class

  private Cuda() {}

  /** Whether the driver's library is in this process already, loaded by whomever. */
  public static boolean loaded() {
    return LoadedLibraries.contains(LIBRARY);
  }

  /**
   * The devices and their memory.
   *
   * @throws DeviceAbsentException if there is no driver or no device, with the reason; each time the same
   */
  public static synchronized GpuMemory memory() {
    if (absence != null) {
      throw new DeviceAbsentException(DeviceKind.CUDA, absence);
    }
    GpuMemory known = memory;
    if (known == null) {
      known = start();
      memory = known;
    }
    return known;
  }

  private static GpuMemory start() {
    try {
      return GpuMemory.of(CudaDriver.start(NativeLibrary.open(List.of(LIBRARY))));
    } catch (MissingNativeException e) {
      absence = LIBRARY + " cannot be loaded; install NVIDIA's driver, or give the container its GPU (" + e.getMessage()
          + ")";
    } catch (DeviceAbsentException e) {
      absence = e.reason();
    }
    throw new DeviceAbsentException(DeviceKind.CUDA, absence);
  }

  /** Whether there is a driver with a device; starts it. */
  public static boolean present() {
    return absence() == null;
  }

  /** Why there is none, or null if there is one: for reports. */
  public static @Nullable String absence() {
    try {
      memory();
      return null;
    } catch (DeviceAbsentException e) {
      return e.reason();
    }
  }
}
