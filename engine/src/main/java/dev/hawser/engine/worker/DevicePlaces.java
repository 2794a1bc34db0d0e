/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import dev.hawser.engine.link.RailNearness;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.topology.Interfaces;
import dev.hawser.engine.topology.Nearness;
import dev.hawser.engine.topology.NetworkPort;
import dev.hawser.engine.topology.PciDevice;
import dev.hawser.engine.topology.Topology;
import dev.hawser.memory.Device;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** How near rails are to devices, by the PCIe tree. It is looked at when memory of a device is first met. Thread-safe. */
final class DevicePlaces implements RailNearness {
  private final Supplier<Topology> reading;
  private final Function<Device, Optional<String>> addressOf;
  private final Function<String, Optional<String>> interfaceOf;
  private final Map<Device, Map<Rail, Double>> known = new ConcurrentHashMap<>();
  private @Nullable Topology topology;

  /**
   * Knows nothing yet.
   *
   * @param addressOf where a device sits, as 0000:3b:00.0
   */
  DevicePlaces(Function<Device, Optional<String>> addressOf) {
    this(Topology::read, addressOf, Interfaces::withAddress);
  }

  DevicePlaces(
      Supplier<Topology> reading,
      Function<Device, Optional<String>> addressOf,
      Function<String, Optional<String>> interfaceOf) {
    this.reading = reading;
    this.addressOf = addressOf;
    this.interfaceOf = interfaceOf;
  }

  @Override
  public double weight(Device device, Rail rail) {
    return known.computeIfAbsent(device, _ -> new ConcurrentHashMap<>())
        .computeIfAbsent(rail, each -> nearness(device, each).weight());
  }

  private Nearness nearness(Device device, Rail rail) {
    Topology here = topology();
    Optional<PciDevice> place = addressOf.apply(device).flatMap(here::accelerator);
    Optional<NetworkPort> port =
        here.port(rail.name()).or(() -> interfaceOf.apply(rail.name()).flatMap(here::port));
    return place.isPresent() && port.isPresent() ? port.get().to(place.get()) : Nearness.UNKNOWN;
  }

  private synchronized Topology topology() {
    Topology read = topology;
    if (read == null) {
      read = reading.get();
      topology = read;
    }
    return read;
  }
}
