/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

import java.util.List;

/**
 * A device in the PCIe tree.
 *
 * @param address domain, bus, device and function, as 0000:3b:00.0
 * @param ancestors from the host bridge (as pci0000:3a) down to the bridge above it
 * @param vendor its number
 * @param kind its class code, 24 bits
 * @param numaNode −1 if it has none, or the machine has one only
 * @param gbitsPerSecond of its link as it is now, encoding taken off; 0 if unknown
 */
public record PciDevice(
    String address, List<String> ancestors, int vendor, int kind, int numaNode, double gbitsPerSecond) {
  private static final int DISPLAY = 0x03;

  /** Accelerators that are no display controllers. */
  private static final int PROCESSING = 0x12;

  public PciDevice {
    ancestors = List.copyOf(ancestors);
  }

  /** Whether it is a GPU or another accelerator. */
  public boolean isAccelerator() {
    return kind >> 16 == DISPLAY || kind >> 16 == PROCESSING;
  }

  /** How near another device is. */
  public Nearness to(PciDevice other) {
    int common = 0;
    while (common < ancestors.size()
        && common < other.ancestors.size()
        && ancestors.get(common).equals(other.ancestors.get(common))) {
      common++;
    }
    // The first ancestor is the host bridge, the second a root port, the third the way into a switch.
    if (common > 2) {
      return Nearness.SAME_SWITCH;
    }
    if (common == 2) {
      return Nearness.SAME_ROOT_PORT;
    }
    if (common == 1) {
      return Nearness.SAME_HOST_BRIDGE;
    }
    return ofNodes(numaNode, other.numaNode);
  }

  static Nearness ofNodes(int one, int other) {
    if (one < 0 || other < 0) {
      return Nearness.UNKNOWN;
    }
    return one == other ? Nearness.SAME_NUMA : Nearness.OTHER_NUMA;
  }
}
