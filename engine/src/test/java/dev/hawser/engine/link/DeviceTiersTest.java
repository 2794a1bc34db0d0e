/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.testkit.SteppedOwner;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which transports serve memory of devices: one that reaches it itself goes before those that stage it. */
class DeviceTiersTest {
  private static final byte[] KEY = {1};

  private static Tier tier(String name, boolean stages) {
    return new Tier(name, new TransportTraits(false, false, 8192, 64, 1 << 20, 1, stages ? 1 : 0), new byte[0],
        List.of(new Reachability.Route(new Rail(name, "rail", 0, 0), "rail")), 1);
  }

  private final OutboundLink link =
      new OutboundLink(new IdleHost(), LinkSettings.defaults(), new RailShares(), "here", 3,
          new PeerDescription("there", 7, List.of("192.0.2.1:1"), Map.of()),
          List.of(tier("shm", true), tier("gpu-ipc", false), tier("tcp", true)), Map.of());

  private int tiers(Device device, String... names) {
    Map<String, byte[]> keys = Arrays.stream(names).collect(Collectors.toMap(name -> name, name -> KEY));
    return link.tiersFor(new RemoteRegion(5, 4096, 4096, device, Access.REMOTE_READ_WRITE, keys));
  }

  @Test
  void memoryOfTheHostHasEveryTierWithAKey() {
    assertThat(tiers(Device.HOST, "shm", "gpu-ipc", "tcp")).isEqualTo(0b111);
  }

  @Test
  void memoryOfADeviceIsStagedOnlyBehindWhatReachesIt() {
    assertThat(tiers(Device.cuda(0), "shm", "gpu-ipc", "tcp")).isEqualTo(0b110);
  }

  @Test
  void memoryOfADeviceThatNothingReachesIsStagedByTheBest() {
    assertThat(tiers(Device.cuda(0), "shm", "tcp")).isEqualTo(0b101);
  }

  private static final class IdleHost extends SteppedOwner {}
}
