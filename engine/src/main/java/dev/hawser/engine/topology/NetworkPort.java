/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

import java.util.Optional;

/**
 * What bytes can leave this host by.
 *
 * @param name as eth0, or mlx5_0:1
 * @param rdma whether it is a port of an RDMA device, and not an interface
 * @param up whether it has a link
 * @param gbitsPerSecond of that link; 0 if unknown, as of a virtual one
 * @param device in the PCIe tree; empty for virtual ones
 */
public record NetworkPort(
    String name, boolean rdma, boolean up, double gbitsPerSecond, Optional<PciDevice> device) {

  /** How near a device is. */
  public Nearness to(PciDevice other) {
    return device.map(own -> own.to(other)).orElse(Nearness.UNKNOWN);
  }

  /** How near a NUMA node is. */
  public Nearness toNode(int node) {
    return device.map(own -> PciDevice.ofNodes(own.numaNode(), node)).orElse(Nearness.UNKNOWN);
  }

  /** The least of its own speed and its slot's; 0 if neither is known. */
  public double usableGbitsPerSecond() {
    double slot = device.map(PciDevice::gbitsPerSecond).orElse(0.0);
    if (gbitsPerSecond == 0 || slot == 0) {
      return Math.max(gbitsPerSecond, slot);
    }
    return Math.min(gbitsPerSecond, slot);
  }

  /** Whether its slot is slower than it is. */
  public boolean isHeldBackBySlot() {
    double slot = device.map(PciDevice::gbitsPerSecond).orElse(0.0);
    return slot > 0 && slot < gbitsPerSecond;
  }
}
