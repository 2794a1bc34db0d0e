/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What two ends tell each other. */
class VerbsCardsTest {
  private static final byte[] IPV4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 0, 0, 1};
  private static final byte[] IPV6 = {0x20, 1, 0xd, (byte) 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

  @Test
  void aCardComesBackAsItWas() {
    QpCard card = new QpCard(5, 0x1234, 0xabcdef, 0x123456, 16, 255, new GidAttributes(3, IPV4, 2), -5);
    QpCard read = QpCard.decode(card.encode());
    assertThat(read.mtu()).isEqualTo(5);
    assertThat(read.lid()).isEqualTo(0x1234);
    assertThat(read.qpNumber()).isEqualTo(0xabcdef);
    assertThat(read.psn()).isEqualTo(0x123456);
    assertThat(read.initiatesReads()).isEqualTo(16);
    assertThat(read.servesReads()).isEqualTo(255);
    assertThat(read.device()).isEqualTo(-5);
    assertThat(read.gid()).hasToString("10.0.0.1 (index 3, RoCE v2)");
    assertThat(read.encode()).isEqualTo(card.encode());
  }

  @Test
  void aCardThatCannotBeIsRefused() {
    byte[] good = new QpCard(5, 0, 1, 1, 1, 1, new GidAttributes(3, IPV4, 2), 7).encode();
    for (int n = 0; n < good.length; n++) {
      byte[] cut = Arrays.copyOf(good, n);
      assertThatThrownBy(() -> QpCard.decode(cut)).isInstanceOf(PathSetupException.class);
    }
    for (int at : new int[] {0, 1, 7, 11}) {
      byte[] wrong = good.clone();
      wrong[at] = 0x77;
      assertThatThrownBy(() -> QpCard.decode(wrong)).isInstanceOf(PathSetupException.class);
    }
  }

  @Test
  void aDescriptionComesBackAsItWas() {
    VerbsDescription description = new VerbsDescription(List.of(entry("mlx5_0", 2, IPV4, 2), entry("ib0", 1, IPV6, 0)));
    VerbsDescription read = VerbsDescription.decode(description.encode());
    assertThat(read.rails()).extracting(VerbsDescription.Entry::name).containsExactly("mlx5_0", "ib0");
    assertThat(read.encode()).isEqualTo(description.encode());
    byte[] good = description.encode();
    for (int n = 0; n < good.length; n++) {
      byte[] cut = Arrays.copyOf(good, n);
      assertThatThrownBy(() -> VerbsDescription.decode(cut)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void saysWhatLiesBetweenTwoRails() {
    VerbsDescription.Entry ours = entry("mlx5_0", VerbsAbi.LinkLayer.ETHERNET, IPV4, VerbsAbi.GidType.ROCE_V2);
    assertThat(ours.obstacle(entry("mlx5_9", VerbsAbi.LinkLayer.ETHERNET, IPV4, VerbsAbi.GidType.ROCE_V2))).isEmpty();
    assertThat(ours.obstacle(entry("ib0", VerbsAbi.LinkLayer.INFINIBAND, IPV6, VerbsAbi.GidType.IB)))
        .contains("mlx5_0 is Ethernet")
        .contains("ib0 is InfiniBand");
    assertThat(ours.obstacle(entry("mlx5_1", VerbsAbi.LinkLayer.ETHERNET, IPV4, VerbsAbi.GidType.ROCE_V1)))
        .contains("RoCE v1")
        .contains("verbs.gid-index");
    assertThat(ours.obstacle(entry("mlx5_1", VerbsAbi.LinkLayer.ETHERNET, IPV6, VerbsAbi.GidType.ROCE_V2)))
        .contains("2001:db8")
        .contains("verbs.gid-index");
  }

  private static VerbsDescription.Entry entry(String name, int layer, byte[] gid, int type) {
    return new VerbsDescription.Entry(name, layer, new GidAttributes(1, gid, type));
  }
}
