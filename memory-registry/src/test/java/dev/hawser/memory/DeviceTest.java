/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceTest {
  @ParameterizedTest
  @ValueSource(strings = {"host", "cuda:0", "hip:1", "cuda:65535"})
  void readsWhatItWrites(String text) {
    assertThat(Device.parse(text)).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "cuda", "cuda:", "cuda:x", "host:0", "hip:-1", "CUDA:0", "cuda:65536", "tpu:0", ":1",
      "cuda:0000001", "cuda:+1", "cuda:١"})
  void refusesWhatIsNone(String text) {
    assertThatThrownBy(() -> Device.parse(text)).isInstanceOf(InvalidMemoryException.class);
  }

  @Test
  void hostHasOneNumber() {
    assertThatThrownBy(() -> new Device(DeviceKind.HOST, 1)).isInstanceOf(InvalidMemoryException.class);
    assertThat(Device.parse("host")).isEqualTo(Device.HOST);
    assertThat(Device.HOST.isHost()).isTrue();
    assertThat(Device.hip(2).isHost()).isFalse();
  }

  @Test
  void accessIsASet() {
    assertThat(Access.REMOTE_READ.and(Access.REMOTE_WRITE)).isEqualTo(Access.REMOTE_READ_WRITE);
    assertThat(Access.REMOTE_READ_WRITE.allows(Access.REMOTE_READ)).isTrue();
    assertThat(Access.REMOTE_READ.allows(Access.REMOTE_WRITE)).isFalse();
    assertThat(Access.LOCAL.allows(Access.LOCAL)).isTrue();
    assertThat(Access.REMOTE_WRITE.remoteReadable()).isFalse();
    assertThat(Access.REMOTE_WRITE.remoteWritable()).isTrue();
    assertThatThrownBy(() -> new Access(4)).isInstanceOf(InvalidMemoryException.class);
  }
}
