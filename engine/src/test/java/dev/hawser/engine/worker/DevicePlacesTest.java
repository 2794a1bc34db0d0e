/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.topology.Nearness;
import dev.hawser.engine.topology.NetworkPort;
import dev.hawser.engine.topology.PciDevice;
import dev.hawser.engine.topology.Topology;
import dev.hawser.memory.Device;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DevicePlacesTest {
  private static final PciDevice GPU =
      new PciDevice("0000:3b:00.0", List.of("pci0000:3a", "0000:3a:00.0", "0000:3a:01.0"), 0x10de, 0x030200, 0, 500);
  private static final PciDevice NEAR =
      new PciDevice("0000:3c:00.0", List.of("pci0000:3a", "0000:3a:00.0", "0000:3a:01.0"), 0x15b3, 0x020000, 0, 400);
  private static final PciDevice FAR =
      new PciDevice("0000:d8:00.0", List.of("pci0000:d7", "0000:d7:00.0"), 0x15b3, 0x020000, 1, 400);
  private static final Topology HOST =
      new Topology(
          2,
          List.of(GPU),
          List.of(
              new NetworkPort("eth9", false, true, 100, Optional.of(FAR)),
              new NetworkPort("mlx5_0:1", true, true, 400, Optional.of(NEAR))));

  private final AtomicInteger readings = new AtomicInteger();
  private final DevicePlaces places =
      new DevicePlaces(
          () -> {
            readings.incrementAndGet();
            return HOST;
          },
          device -> device.equals(Device.cuda(0)) ? Optional.of("0000:3b:00.0") : Optional.empty(),
          address -> address.equals("10.0.0.9") ? Optional.of("eth9") : Optional.empty());

  @Test
  void weighsRailsByThePciTreeAndReadsItOnce() {
    assertThat(places.weight(Device.cuda(0), new Rail("verbs", "mlx5_0:1", 0, 0)))
        .isEqualTo(Nearness.SAME_SWITCH.weight());
    assertThat(places.weight(Device.cuda(0), new Rail("tcp", "10.0.0.9", 0, 0)))
        .isEqualTo(Nearness.OTHER_NUMA.weight());
    assertThat(places.weight(Device.cuda(0), new Rail("verbs", "mlx5_0:1", 0, 0)))
        .isEqualTo(Nearness.SAME_SWITCH.weight());
    assertThat(readings).hasValue(1);
  }

  @Test
  void whatNobodyKnowsIsAsNearAsTheRest() {
    double unknown = Nearness.UNKNOWN.weight();
    assertThat(places.weight(Device.cuda(1), new Rail("verbs", "mlx5_0:1", 0, 0))).isEqualTo(unknown);
    assertThat(places.weight(Device.cuda(0), new Rail("tcp", "10.0.0.1", 0, 0))).isEqualTo(unknown);
  }
}
