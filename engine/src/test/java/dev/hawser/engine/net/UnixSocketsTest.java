/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.ffi.FileDescriptors;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class UnixSocketsTest {
  private static final String NAME = "hawser-test-" + ProcessHandle.current().pid();

  @Test
  void passesDescriptorsUnderAnAbstractName() {
    int listener = UnixSockets.listen(NAME, 4);
    int client = UnixSockets.connect(NAME);
    int server = Sockets.accept(listener);
    int memfd = FileDescriptors.memfdCreate("passed", FileDescriptors.MFD_CLOEXEC);
    try {
      FileDescriptors.truncate(memfd, 12_345);
      assertThat(UnixSockets.receive(server, 16)).isNull();

      assertThat(UnixSockets.send(client, "here".getBytes(StandardCharsets.US_ASCII), memfd, memfd)).isEqualTo(4);
      UnixSockets.Received received = Objects.requireNonNull(UnixSockets.receive(server, 16));

      assertThat(received.bytes()).asString(StandardCharsets.US_ASCII).isEqualTo("here");
      assertThat(received.descriptors()).hasSize(2).doesNotContain(memfd);
      for (int fd : received.descriptors()) {
        assertThat(FileDescriptors.identify(fd)).isEqualTo(FileDescriptors.identify(memfd));
        Sockets.close(fd);
      }
      UnixSockets.send(client, new byte[] {1});
      assertThat(Objects.requireNonNull(UnixSockets.receive(server, 16)).descriptors()).isEmpty();
    } finally {
      Sockets.close(memfd);
      Sockets.close(server);
      Sockets.close(client);
      Sockets.close(listener);
    }
  }

  @Test
  void aStrangersNameIsRefused() {
    assertThatThrownBy(() -> UnixSockets.connect(NAME + "-nobody"))
        .isInstanceOf(NetException.class)
        .hasMessageContaining("@" + NAME)
        .hasMessageContaining("ECONNREFUSED");
  }

  @Test
  void theEndOfTheStreamIsEmpty() {
    int[] pair = Sockets.pair();
    Sockets.close(pair[1]);

    assertThat(Objects.requireNonNull(UnixSockets.receive(pair[0], 16)).bytes()).isEmpty();
    Sockets.close(pair[0]);
  }
}
