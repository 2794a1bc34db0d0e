/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A host's accelerators and ports. Immutable.
 *
 * @param numaNodes how many there are
 * @param accelerators by address
 * @param ports interfaces (without loopback), then ports of RDMA devices, by name
 */
public record Topology(int numaNodes, List<PciDevice> accelerators, List<NetworkPort> ports) {
  private static final Pattern ADDRESS = Pattern.compile("[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
  private static final Pattern HOST_BRIDGE = Pattern.compile("pci[0-9a-f]{4,}:[0-9a-f]{2}");
  private static final Pattern NUMBER = Pattern.compile("(\\d+(?:\\.\\d+)?).*");

  /** From that many GT/s on 128 of 130 bits are payload, below 8 of 10. */
  private static final double EFFICIENT = 8.0;

  public Topology {
    accelerators = List.copyOf(accelerators);
    ports = List.copyOf(ports);
  }

  /** Reads this host's. What cannot be read is left out. */
  public static Topology read() {
    return read(Path.of("/sys"));
  }

  /** Whether a folder looks as {@code /sys} does. */
  public static boolean isTree(Path sys) {
    return Files.isDirectory(sys.resolve("class/net")) || Files.isDirectory(sys.resolve("bus/pci/devices"));
  }

  /**
   * Reads a recorded one.
   *
   * @param sys what stands for {@code /sys}
   */
  public static Topology read(Path sys) {
    Map<String, PciDevice> devices = new TreeMap<>();
    for (Path each : list(sys.resolve("bus/pci/devices"))) {
      device(each).ifPresent(device -> devices.put(device.address(), device));
    }
    List<NetworkPort> ports = new ArrayList<>();
    for (Path each : list(sys.resolve("class/net"))) {
      String name = each.getFileName().toString();
      if (!name.equals("lo") && Files.isDirectory(each)) {
        double gbits = Math.max(0, number(each.resolve("speed"), 0)) / 1000;
        boolean up = text(each.resolve("operstate")).filter(state -> !state.equals("down")).isPresent();
        ports.add(new NetworkPort(name, false, up, gbits, behind(each.resolve("device"), devices)));
      }
    }
    for (Path each : list(sys.resolve("class/infiniband"))) {
      for (Path port : list(each.resolve("ports"))) {
        String name = each.getFileName() + ":" + port.getFileName();
        boolean up = text(port.resolve("state")).filter(state -> state.contains("ACTIVE")).isPresent();
        ports.add(
            new NetworkPort(name, true, up, number(port.resolve("rate"), 0), behind(each.resolve("device"), devices)));
      }
    }
    int nodes =
        (int) list(sys.resolve("devices/system/node")).stream()
            .filter(each -> each.getFileName().toString().matches("node\\d+"))
            .count();
    return new Topology(
        Math.max(1, nodes), devices.values().stream().filter(PciDevice::isAccelerator).toList(), ports);
  }

  private static Optional<PciDevice> device(Path link) {
    Path real;
    try {
      real = link.toRealPath();
    } catch (IOException e) {
      return Optional.empty(); // it went away meanwhile
    }
    List<String> ancestors = new ArrayList<>();
    for (Path part : real) {
      String name = part.toString();
      if (HOST_BRIDGE.matcher(name).matches()) {
        ancestors.clear();
        ancestors.add(name);
      } else if (ADDRESS.matcher(name).matches()) {
        ancestors.add(name);
      }
    }
    if (ancestors.isEmpty()) {
      return Optional.empty();
    }
    String address = ancestors.removeLast();
    double speed = number(real.resolve("current_link_speed"), 0);
    double gbits = speed * number(real.resolve("current_link_width"), 0) * (speed < EFFICIENT ? 0.8 : 128.0 / 130);
    return Optional.of(
        new PciDevice(
            address,
            ancestors,
            hex(real.resolve("vendor")),
            hex(real.resolve("class")),
            (int) number(real.resolve("numa_node"), -1),
            gbits));
  }

  private static Optional<PciDevice> behind(Path link, Map<String, PciDevice> devices) {
    Path real;
    try {
      real = link.toRealPath();
    } catch (IOException e) {
      return Optional.empty(); // a virtual one
    }
    // A virtio interface hangs below its PCI device.
    for (Path at = real; at != null && at.getFileName() != null; at = at.getParent()) {
      PciDevice device = devices.get(at.getFileName().toString());
      if (device != null) {
        return Optional.of(device);
      }
    }
    return Optional.empty();
  }

  private static List<Path> list(Path folder) {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> all = Files.list(folder)) {
      return all.sorted().toList();
    } catch (IOException | UncheckedIOException e) {
      return List.of();
    }
  }

  private static Optional<String> text(Path file) {
    try {
      return Optional.of(Files.readString(file).strip());
    } catch (IOException e) {
      return Optional.empty(); // a speed cannot be read while there is no link
    }
  }

  private static double number(Path file, double otherwise) {
    Optional<String> text = text(file);
    if (text.isPresent() && text.get().equals("-1")) {
      return -1;
    }
    Matcher matcher = NUMBER.matcher(text.orElse(""));
    return matcher.matches() ? Double.parseDouble(matcher.group(1)) : otherwise;
  }

  private static int hex(Path file) {
    try {
      return Integer.decode(text(file).orElse("0"));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** The port of a name, as eth0 or mlx5_0:1. */
  public Optional<NetworkPort> port(String name) {
    return ports.stream().filter(port -> port.name().equals(name)).findFirst();
  }

  /** The accelerator at an address, as 0000:3b:00.0. */
  public Optional<PciDevice> accelerator(String address) {
    return accelerators.stream().filter(device -> device.address().equals(address)).findFirst();
  }

  /** The ports that are up, the best for a device's memory first: by nearness times speed. */
  public List<NetworkPort> bestFor(PciDevice device) {
    return ports.stream()
        .filter(NetworkPort::up)
        .sorted(
            Comparator.comparingDouble(
                (NetworkPort port) -> -port.to(device).weight() * Math.max(1, port.usableGbitsPerSecond())))
        .toList();
  }

  /** For people, each line ended by a line feed. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(String.format(Locale.ROOT, "NUMA nodes  %d%n", numaNodes));
    for (PciDevice each : accelerators) {
      text.append(
          String.format(
              Locale.ROOT, "accelerator %-14s node %2d  link %s%n", each.address(), each.numaNode(),
              speed(each.gbitsPerSecond())));
    }
    for (NetworkPort each : ports) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-11s %-14s %-14s node %2s  %-4s %s%s%n",
              each.rdma() ? "rdma port" : "interface",
              each.name(),
              each.device().map(PciDevice::address).orElse("virtual"),
              each.device().map(device -> Integer.toString(device.numaNode())).orElse("-"),
              each.up() ? "up" : "down",
              speed(each.gbitsPerSecond()),
              each.isHeldBackBySlot()
                  ? ", but its slot gives only " + speed(each.usableGbitsPerSecond())
                  : ""));
    }
    for (PciDevice each : accelerators) {
      for (NetworkPort port : bestFor(each)) {
        if (port.device().isPresent()) {
          text.append(String.format(Locale.ROOT, "%s to %s: %s%n", each.address(), port.name(), port.to(each)));
        }
      }
    }
    return text.toString();
  }

  private static String speed(double gbits) {
    return gbits == 0 ? "of unknown speed" : String.format(Locale.ROOT, "%.0f Gb/s", gbits);
  }
}
