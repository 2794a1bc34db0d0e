/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * The devices that a libibverbs found, as a list that must be closed; a device may be opened while the list is open, and
 * stays open after it. Thread-safe, but for the close.
 *
 * <p>Source: ibv_get_device_list(3), ibv_open_device(3).
 */
public final class VerbsDevices implements AutoCloseable {
  private final VerbsLibrary library;
  private final long list;
  private final List<Found> found;

  private VerbsDevices(VerbsLibrary library, long list, List<Found> found) {
    this.library = library;
    this.list = list;
    this.found = List.copyOf(found);
  }

  /**
   * Looks for devices.
   *
   * @throws VerbsException if libibverbs cannot look, for example {@code ENOSYS} on a kernel without InfiniBand
   */
  public static VerbsDevices list(VerbsLibrary library) {
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = (long) library.bindings().getDeviceList.invokeExact(errno, count.address());
      if (list == 0) {
        throw new VerbsException(
            "ibv_get_device_list",
            library.name(),
            Errno.of(errno),
            Errno.of(errno) == Errno.ENOSYS ? "this kernel has no InfiniBand support (module ib_uverbs)" : "");
      }
      List<Found> found = new ArrayList<>();
      for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
        found.add(found(library, RawMemory.u64(list + 8L * i)));
      }
      return new VerbsDevices(library, list, found);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  private static Found found(VerbsLibrary library, long device) {
    try {
      long name = (long) library.bindings().getDeviceName.invokeExact(device);
      long guid = Long.reverseBytes((long) library.bindings().getDeviceGuid.invokeExact(device));
      return new Found(
          device,
          NativeStrings.at(name, 64),
          guid,
          RawMemory.u32(device + VerbsAbi.Device.TRANSPORT_TYPE));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** What was found. */
  public List<Found> found() {
    return found;
  }

  /**
   * Opens one.
   *
   * @throws VerbsException if it cannot be opened
   */
  public VerbsContext open(Found device) {
    return VerbsContext.open(library, device);
  }

  @Override
  public void close() {
    try {
      library.bindings().freeDeviceList.invokeExact(list);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * A device.
   *
   * @param address of its {@code struct ibv_device}; valid while the list is open
   * @param name for example {@code mlx5_0}
   * @param guid the node's, 0 if it has none yet
   * @param transportType one of {@link VerbsAbi.TransportType}
   */
  public record Found(long address, String name, long guid, int transportType) {}
}
