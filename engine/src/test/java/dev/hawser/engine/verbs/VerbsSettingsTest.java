/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class VerbsSettingsTest {

  @Test
  void hasDefaults() {
    VerbsSettings settings = VerbsSettings.of(Map.of());
    assertThat(settings.gidIndex()).isEqualTo(-1);
    assertThat(settings.mtu()).isZero();
    assertThat(settings.retryCount()).isEqualTo(7);
    assertThat(settings.sliceBytes()).isEqualTo(3_758_096_384L);
    assertThat(settings.relaxedOrdering()).isTrue();
    assertThat(settings.devices().wants("mlx5_0", 1)).isTrue();
  }

  @Test
  void readsEach() {
    VerbsSettings settings =
        VerbsSettings.of(
            Map.of(
                "devices", "mlx5_0, mlx5_1:2",
                "gid-index", "3",
                "pkey", "0x8001",
                "traffic-class", "104",
                "timeout", "18",
                "relaxed-ordering", "false",
                "slice-bytes", "65536",
                "mtu", "1024"));
    assertThat(settings.gidIndex()).isEqualTo(3);
    assertThat(settings.pkey()).isEqualTo(0x8001);
    assertThat(settings.trafficClass()).isEqualTo(104);
    assertThat(settings.timeout()).isEqualTo(18);
    assertThat(settings.relaxedOrdering()).isFalse();
    assertThat(settings.sliceBytes()).isEqualTo(65536);
    assertThat(settings.devices().wants("mlx5_0", 2)).isTrue();
    assertThat(settings.devices().wants("mlx5_1", 1)).isFalse();
    assertThat(settings.devices().wants("mlx5_1", 2)).isTrue();
    assertThat(settings.devices().wants("mlx5_2", 1)).isFalse();
  }

  @Test
  void choosesDevices() {
    assertThat(DeviceChoice.of("mlx5_*:1,bnxt_re0").wants("mlx5_7", 1)).isTrue();
    assertThat(DeviceChoice.of("mlx5_*:1,bnxt_re0").wants("mlx5_7", 2)).isFalse();
    assertThat(DeviceChoice.of("mlx5_*:1,bnxt_re0").wants("bnxt_re0", 2)).isTrue();
    assertThat(DeviceChoice.of("mlx5_*:1,bnxt_re0").obstacle("bnxt_re1"))
        .isEqualTo("bnxt_re1 is not among verbs.devices=mlx5_*:1,bnxt_re0");
    assertThat(DeviceChoice.of("mlx5_1").wants("mlx5_10", 1)).isFalse();
    DeviceChoice without = DeviceChoice.of("^mlx5_3, mlx5_4:2");
    assertThat(without.wants("mlx5_3", 1)).isFalse();
    assertThat(without.wants("mlx5_4", 1)).isTrue();
    assertThat(without.wants("mlx5_4", 2)).isFalse();
    assertThat(without.wants("mlx5_0", 1)).isTrue();
    assertThat(without.obstacle("mlx5_3")).isEqualTo("mlx5_3 is excluded by verbs.devices=^mlx5_3, mlx5_4:2");
    assertThat(without.obstacle("mlx5_4")).isEmpty();
    refuses("devices", "mlx5_0,,mlx5_1");
    refuses("devices", "mlx5_0:x");
    refuses("devices", "mlx5_0:0");
    refuses("devices", "m*x");
    refuses("devices", "^");
  }

  @Test
  void refusesWhatCannotBe() {
    refuses("gid-index", "banana");
    refuses("gid-index", "256");
    refuses("mtu", "1500");
    refuses("timeout", "32", "from 1 to 31");
    refuses("timeout", "99999999999", "from 1 to 31");
    refuses("slice-bytes", "99999999999999999999", "from 65536 to 9223372036854775807");
    refuses("slice-bytes", "65537", "multiple of 4096");
    refuses("rnr-retry", "8");
    refuses("relaxed-ordering", "maybe");
    refuses("slice-bytes", "4097");
    refuses("slice-bytes", "much");
    assertThatThrownBy(() -> VerbsSettings.of(Map.of("gid-indx", "3")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("verbs.gid-indx")
        .hasMessageContaining("verbs.gid-index");
  }

  private static void refuses(String name, String value, String... also) {
    assertThatThrownBy(() -> VerbsSettings.of(Map.of(name, value)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("verbs." + name)
        .hasMessageContaining(value)
        .satisfies(e -> assertThat(List.of(also)).allSatisfy(each -> assertThat(e).hasMessageContaining(each)));
  }
}
