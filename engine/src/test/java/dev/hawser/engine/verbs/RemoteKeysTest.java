/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RemoteKeysTest {
  private static final long BASE = 0x7000_0000_0000L;
  private static final long SLICE = 1 << 20;

  private static byte[] blob() {
    DeviceKeys first = new DeviceKeys(BASE, SLICE, new long[1], new int[] {1}, new int[] {11});
    DeviceKeys second = new DeviceKeys(BASE, SLICE, new long[3], new int[] {1, 2, 3}, new int[] {21, 22, 23});
    ByteBuffer out = ByteBuffer.allocate(2 + first.bytes() + second.bytes()).order(ByteOrder.LITTLE_ENDIAN);
    out.put((byte) 1).put((byte) 2);
    first.encode(100, out);
    second.encode(200, out);
    assertThat(out.hasRemaining()).isFalse();
    return out.array();
  }

  private static RemoteRegion region(byte[] keys) {
    return new RemoteRegion(1, BASE, 3 * SLICE, Device.HOST, Access.REMOTE_READ_WRITE, Map.of("verbs", keys));
  }

  @Test
  void findsTheKeyOfItsDevice() {
    RemoteKeys one = new RemoteKeys(100);
    assertThat(one.select(region(blob()))).isTrue();
    assertThat(one.key(BASE + 2 * SLICE)).isEqualTo(11);
    assertThat(one.reach(BASE)).isEqualTo(Long.MAX_VALUE);
    assertThat(new RemoteKeys(300).select(region(blob()))).isFalse();
  }

  @Test
  void knowsSlices() {
    RemoteKeys keys = new RemoteKeys(200);
    assertThat(keys.select(region(blob()))).isTrue();
    assertThat(keys.key(BASE)).isEqualTo(21);
    assertThat(keys.key(BASE + SLICE - 1)).isEqualTo(21);
    assertThat(keys.key(BASE + SLICE)).isEqualTo(22);
    assertThat(keys.key(BASE + 3 * SLICE - 1)).isEqualTo(23);
    assertThat(keys.reach(BASE + SLICE - 5)).isEqualTo(5);
    assertThat(keys.reach(BASE + SLICE)).isEqualTo(SLICE);
  }

  @Test
  void leavesItToTheDeviceToRefuseWhatLiesOutside() {
    RemoteKeys keys = new RemoteKeys(200);
    assertThat(keys.select(region(blob()))).isTrue();
    for (long address : new long[] {0, 8, BASE - 1, BASE + 3 * SLICE, Long.MAX_VALUE, Long.MIN_VALUE}) {
      assertThat(keys.key(address)).isIn(21, 23);
      assertThat(keys.reach(address)).isPositive();
    }
  }

  @Test
  void hasNoKeyInWhatIsDamaged() {
    byte[] good = blob();
    for (int n = 0; n < good.length; n++) {
      assertThat(new RemoteKeys(200).select(region(Arrays.copyOf(good, n)))).as("%d bytes", n).isFalse();
    }
    byte[] other = good.clone();
    other[0] = 2;
    assertThat(new RemoteKeys(200).select(region(other))).isFalse();
  }

  @Test
  void tellsMemoryThatNoNicRegistersFromWhatIsDamaged() {
    RemoteKeys keys = new RemoteKeys(200);
    assertThat(keys.select(region(RemoteKeys.staged()))).isFalse();
    assertThat(keys.isStaged()).isTrue();
    assertThat(keys.select(region(new byte[] {2, 0}))).isFalse();
    assertThat(keys.isStaged()).isFalse();
    assertThat(keys.select(region(new byte[] {1, 0, 0}))).isFalse();
    assertThat(keys.isStaged()).isFalse();
    assertThat(keys.select(region(blob()))).isTrue();
    assertThat(keys.isStaged()).isFalse();
  }

  @Test
  void goesToAndFroBetweenManyRegions() {
    RemoteKeys keys = new RemoteKeys(100);
    RemoteRegion[] regions = new RemoteRegion[1000];
    for (int i = 0; i < regions.length; i++) {
      DeviceKeys own = new DeviceKeys(BASE, SLICE, new long[1], new int[] {1}, new int[] {i});
      ByteBuffer out = ByteBuffer.allocate(2 + own.bytes()).order(ByteOrder.LITTLE_ENDIAN);
      out.put((byte) 1).put((byte) 1);
      own.encode(100, out);
      regions[i] = region(out.array());
    }
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < regions.length; i++) {
        assertThat(keys.select(regions[i])).isTrue();
        assertThat(keys.key(BASE)).isEqualTo(i);
      }
    }
  }

  @Test
  void knowsItsOwnSlices() {
    DeviceKeys keys = new DeviceKeys(BASE, SLICE, new long[2], new int[] {5, 6}, new int[] {7, 8});
    assertThat(keys.localKey(BASE + SLICE - 1)).isEqualTo(5);
    assertThat(keys.localKey(BASE + SLICE)).isEqualTo(6);
    assertThat(keys.reach(BASE + 10)).isEqualTo(SLICE - 10);
  }
}
