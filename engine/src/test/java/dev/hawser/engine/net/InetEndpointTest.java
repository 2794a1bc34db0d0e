/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InetEndpointTest {
  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:0", "10.1.2.3:65535", "0.0.0.0:80"})
  void readsWhatItWritesV4(String text) {
    assertThat(InetEndpoint.parse(text)).hasToString(text);
  }

  @Test
  void readsBracketedV6() {
    InetEndpoint endpoint = InetEndpoint.parse("[::1]:4711");

    assertThat(endpoint.port()).isEqualTo(4711);
    assertThat(endpoint.ipv6()).isTrue();
    assertThat(InetEndpoint.parse(endpoint.toString())).isEqualTo(endpoint);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
      "host:80",
      "::1:80", "[::1]", "[::1]80", "[127.0.0.1:80", "1.2.3:80", "banana"})
  void refusesWhatIsNoNumericAddress(String text) {
    assertThatThrownBy(() -> InetEndpoint.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "'")
        .hasMessageContaining("10.0.0.1:4711");
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:4711", "[2001:db8:0:0:0:0:0:7]:443", "[::ffff:10.0.0.1]:7"})
  void survivesTheKernelsForm(String text) {
    InetEndpoint endpoint = InetEndpoint.parse(text);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment sockaddr = arena.allocate(InetEndpoint.SOCKADDR_BYTES, 8);
      endpoint.writeTo(sockaddr);

      assertThat(InetEndpoint.readFrom(sockaddr)).isEqualTo(endpoint);
    }
  }
}
