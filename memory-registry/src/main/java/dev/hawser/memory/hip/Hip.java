/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.ffi.LoadedLibraries;
import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.GpuMemory;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The HIP of this machine: loaded and started on first use, once. Thread-safe. */
public final class Hip {
  private static final List<String> LIBRARIES =
      List.of("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5");
  private static final List<String> COMPILERS =
      List.of("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5");
  private static final List<String> HSA = List.of("libhsa-runtime64.so.1", "libhsa-runtime64.so");

  private static @Nullable GpuMemory memory; // guarded by the class
  private static @Nullable String absence; // guarded by the class

  private Hip() {}

  /** Whether the library is in this process already, loaded by whomever. */
  public static boolean loaded() {
    return LIBRARIES.stream().anyMatch(LoadedLibraries::contains);
  }

  /**
   * The devices and their memory.
   *
   * @throws DeviceAbsentException if there is no HIP or no device, with the reason; each time the same
   */
  public static synchronized GpuMemory memory() {
    if (absence != null) {
      throw new DeviceAbsentException(DeviceKind.HIP, absence);
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
      NativeLibrary library = NativeLibrary.open(LIBRARIES);
      NativeLibrary compiler =
          library.find("hiprtcCreateProgram").isPresent() ? library : NativeLibrary.open(COMPILERS);
      return GpuMemory.of(HipDriver.start(library, compiler, NativeLibrary.open(HSA)));
    } catch (MissingNativeException e) {
      absence = "HIP cannot be loaded; install ROCm (" + e.getMessage() + ")";
    } catch (DeviceAbsentException e) {
      absence = e.reason();
    }
    throw new DeviceAbsentException(DeviceKind.HIP, absence);
  }

  /** Whether there is a HIP with a device; starts it. */
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
