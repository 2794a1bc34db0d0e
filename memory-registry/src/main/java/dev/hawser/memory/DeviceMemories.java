/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** The kinds of GPU memory that a registry knows: those given to its builder, and otherwise those of the providers. */
final class DeviceMemories {
  /** Loaded when the first registry needs one; for all registries, as a process has one driver of each kind. */
  private static final class Providers {
    static final Map<DeviceKind, DeviceProvider> ALL = load();

    private static Map<DeviceKind, DeviceProvider> load() {
      Map<DeviceKind, DeviceProvider> found = new EnumMap<>(DeviceKind.class);
      for (DeviceProvider provider : ServiceLoader.load(DeviceProvider.class, DeviceProvider.class.getClassLoader())) {
        found.put(provider.kind(), provider);
      }
      return found;
    }
  }

  private final Map<DeviceKind, AllocationFinder> given;

  DeviceMemories(Map<DeviceKind, AllocationFinder> given) {
    this.given = new EnumMap<>(DeviceKind.class);
    this.given.putAll(given);
  }

  /** Who knows the allocations of {@code kind}; null for kinds that nobody was given for and that have no driver. */
  @Nullable
  AllocationFinder finder(DeviceKind kind) {
    AllocationFinder finder = given.get(kind);
    if (finder != null || kind == DeviceKind.HOST) {
      return finder;
    }
    return memory(kind);
  }

  /**
   * The memory of {@code kind}.
   *
   * @throws DeviceAbsentException if there is none, with the reason
   */
  DeviceMemory memory(DeviceKind kind) {
    if (given.get(kind) instanceof DeviceMemory memory) {
      return memory;
    }
    DeviceProvider provider = Providers.ALL.get(kind);
    if (provider == null) {
      throw new DeviceAbsentException(kind, "this build has no binding of its driver");
    }
    return provider.open();
  }

  /** Why there can be none, as far as that is known without starting a driver. */
  Optional<String> absence(DeviceKind kind) {
    if (given.get(kind) instanceof DeviceMemory) {
      return Optional.empty();
    }
    DeviceProvider provider = Providers.ALL.get(kind);
    return provider == null ? Optional.of("this build has no binding of its driver") : provider.absence();
  }

  /** The allocation around an address, of the first kind whose driver knows it. A driver that is not loaded knows none. */
  Optional<AllocationFinder.Allocation> find(long address) {
    for (DeviceKind kind : DeviceKind.values()) {
      AllocationFinder finder = given.get(kind);
      DeviceProvider provider = finder == null && kind != DeviceKind.HOST ? Providers.ALL.get(kind) : null;
      if (provider != null && provider.loaded()) {
        finder = opened(provider);
      }
      Optional<AllocationFinder.Allocation> allocation =
          finder == null ? Optional.empty() : finder.find(address);
      if (allocation.isPresent()) {
        return allocation;
      }
    }
    return Optional.empty();
  }

  private static @Nullable AllocationFinder opened(DeviceProvider provider) {
    try {
      return provider.open();
    } catch (DeviceAbsentException e) {
      return null; // loaded, but without a device: no address is of that kind
    }
  }
}
