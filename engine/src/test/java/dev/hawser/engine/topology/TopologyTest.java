/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On a tree as two sockets with switches have it, and on this host's. */
class TopologyTest {
  @TempDir
  private Path sys;

  private void put(String file, String content) throws IOException {
    Path path = sys.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, content + "\n");
  }

  private void link(String from, String to) throws IOException {
    Path path = sys.resolve(from);
    Files.createDirectories(path.getParent());
    Files.createSymbolicLink(path, sys.resolve(to));
  }

  private String pci(String path, String kind, int node, String speed, int width) throws IOException {
    String folder = "devices/" + path;
    put(folder + "/class", kind);
    put(folder + "/vendor", "0x10de");
    put(folder + "/numa_node", Integer.toString(node));
    put(folder + "/current_link_speed", speed);
    put(folder + "/current_link_width", Integer.toString(width));
    String address = path.substring(path.lastIndexOf('/') + 1);
    link("bus/pci/devices/" + address, folder);
    return folder;
  }

  @BeforeEach
  void record() throws IOException {
    put("devices/system/node/node0/cpulist", "0-31");
    put("devices/system/node/node1/cpulist", "32-63");
    String switch0 = "pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:0";
    pci(switch0 + "0.0/0000:19:00.0", "0x030200", 0, "32.0 GT/s PCIe", 16);
    String near = pci(switch0 + "1.0/0000:1a:00.0", "0x020700", 0, "32.0 GT/s PCIe", 16);
    pci("pci0000:16/0000:16:02.0/0000:1b:00.0", "0x030200", 0, "16.0 GT/s PCIe", 16);
    pci("pci0000:97/0000:97:01.0/0000:98:00.0", "0x030200", 1, "32.0 GT/s PCIe", 16);
    String far = pci("pci0000:97/0000:97:02.0/0000:99:00.0", "0x020700", 1, "8.0 GT/s PCIe", 8);
    String virtio = pci("pci0000:00/0000:00:03.0", "0x020000", -1, "Unknown", 0);
    link("class/infiniband/mlx5_0/device", near);
    put("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
    put("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
    link("class/infiniband/mlx5_1/device", far);
    put("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE");
    put("class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)");
    put("class/net/lo/operstate", "unknown");
    Files.createDirectories(sys.resolve(virtio + "/virtio0"));
    link("class/net/eth0/device", virtio + "/virtio0");
    put("class/net/eth0/operstate", "up");
    put("class/net/eth0/speed", "-1");
    put("class/net/veth1/operstate", "down");
  }

  @Test
  void whatIsNearIsTold() {
    Topology topology = Topology.read(sys);

    assertThat(topology.numaNodes()).isEqualTo(2);
    assertThat(topology.accelerators()).extracting(PciDevice::address)
        .containsExactly("0000:19:00.0", "0000:1b:00.0", "0000:98:00.0");
    assertThat(topology.ports()).extracting(NetworkPort::name)
        .containsExactly("eth0", "veth1", "mlx5_0:1", "mlx5_1:1");
    PciDevice first = topology.accelerators().getFirst();
    List<NetworkPort> ports = topology.ports();
    assertThat(ports.get(2).to(first)).isEqualTo(Nearness.SAME_SWITCH);
    assertThat(ports.get(3).to(first)).isEqualTo(Nearness.OTHER_NUMA);
    assertThat(ports.get(0).to(first)).isEqualTo(Nearness.UNKNOWN);
    assertThat(ports.get(2).to(topology.accelerators().get(1))).isEqualTo(Nearness.SAME_HOST_BRIDGE);
    assertThat(ports.get(2).toNode(1)).isEqualTo(Nearness.OTHER_NUMA);
    assertThat(topology.bestFor(first)).extracting(NetworkPort::name).startsWith("mlx5_0:1");
    assertThat(topology.bestFor(topology.accelerators().getLast()))
        .as("a slow slot on the same node, a fast one on the other")
        .extracting(NetworkPort::name).startsWith("mlx5_0:1", "mlx5_1:1");
  }

  @Test
  void speedsAreThoseOfNow() {
    Topology topology = Topology.read(sys);

    assertThat(topology.accelerators().getFirst().gbitsPerSecond()).isBetween(504.0, 504.2);
    NetworkPort slow = topology.ports().get(3);
    assertThat(slow.isHeldBackBySlot()).isTrue();
    assertThat(slow.usableGbitsPerSecond()).isBetween(63.0, 63.1);
    assertThat(topology.ports().get(1).up()).isFalse();
    assertThat(topology.ports().get(0).gbitsPerSecond()).as("virtio does not know").isZero();
    assertThat(topology.text()).contains("0000:19:00.0 to mlx5_0:1: same switch", "but its slot gives only 63 Gb/s",
        "veth1", "virtual", "of unknown speed");
  }

  @Test
  void thisHostHasOne() {
    assertThat(Topology.read().text()).contains("NUMA nodes");
  }

  @Test
  void nothingRecordedIsNothing() {
    assertThat(Topology.read(sys.resolve("nowhere"))).isEqualTo(new Topology(1, List.of(), List.of()));
  }
}
