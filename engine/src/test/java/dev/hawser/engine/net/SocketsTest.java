/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SocketsTest {
  private final List<Integer> open = new ArrayList<>();

  @AfterEach
  void closeAll() {
    open.forEach(Sockets::close);
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:0", "[::1]:0"})
  void connectsAndMovesBytesBetweenSeveralPlaces(String address) {
    InetEndpoint any = InetEndpoint.parse(address);
    int listener = keep(Sockets.listen(any, 8));
    InetEndpoint bound = Sockets.local(listener);
    int client = keep(Sockets.stream(bound));

    int begun = Sockets.connect(client, bound);
    assertThat(begun).isIn(0, -Sockets.EINPROGRESS);
    assertThat(Sockets.poll(client, Sockets.POLLOUT, 5000)).isEqualTo(Sockets.POLLOUT);
    assertThat(Sockets.pendingError(client)).isZero();
    assertThat(Sockets.poll(listener, Sockets.POLLIN, 5000)).isEqualTo(Sockets.POLLIN);
    int server = keep(Sockets.accept(listener));
    assertThat(Sockets.peer(server)).isEqualTo(Sockets.local(client));

    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocateFrom(ValueLayout.JAVA_BYTE, "hawser".getBytes(StandardCharsets.US_ASCII));
      MemorySegment iovec = arena.allocate(ValueLayout.JAVA_LONG, 4);
      places(iovec, out.address(), 2, out.address() + 2, 4);
      MessageHeader header = new MessageHeader(arena.allocate(MessageHeader.BYTES, 8)).places(iovec.address(), 2);
      assertThat(Sockets.sendMessage(client, header.address())).isEqualTo(6);

      NetworkReport network = Sockets.network(client);
      assertThat(network.retransmitted()).isBetween(0L, 3L);
      assertThat(network.roundTripNanos()).isBetween(1_000L, 10_000_000_000L);
      assertThat(network.leastRoundTripNanos()).isBetween(0L, network.roundTripNanos());
      assertThat(network.window()).as("ten segments at first").isGreaterThan(1_000);

      MemorySegment in = arena.allocate(16);
      places(iovec, in.address() + 8, 5, in.address(), 3);
      assertThat(Sockets.poll(server, Sockets.POLLIN, 5000)).isEqualTo(Sockets.POLLIN);
      assertThat(Sockets.readv(server, iovec.address(), 2)).isEqualTo(6);
      assertThat(text(in, 8, 5)).isEqualTo("hawse");
      assertThat(text(in, 0, 1)).isEqualTo("r");
      assertThat(Sockets.readv(server, iovec.address(), 2)).isEqualTo(-Errno.EAGAIN);

      Sockets.shutdownOutput(client);
      assertThat(Sockets.poll(server, Sockets.POLLIN, 5000)).isEqualTo(Sockets.POLLIN);
      assertThat(Sockets.receive(server, in.address(), 1)).isZero();
    }
  }

  @Test
  void saysWhatToDoAboutAPortInUse() {
    int listener = keep(Sockets.listen(InetEndpoint.parse("127.0.0.1:0"), 8));
    InetEndpoint taken = Sockets.local(listener);

    assertThatThrownBy(() -> Sockets.listen(taken, 8))
        .isInstanceOf(NetException.class)
        .hasMessageContaining(taken.toString())
        .hasMessageContaining("EADDRINUSE")
        .hasMessageContaining("port 0 takes a free one");
  }

  @Test
  void saysWhatToDoAboutAForeignAddress() {
    assertThatThrownBy(() -> Sockets.listen(InetEndpoint.parse("192.0.2.1:0"), 8))
        .isInstanceOf(NetException.class)
        .hasMessageContaining("192.0.2.1")
        .hasMessageContaining("EADDRNOTAVAIL");
  }

  @Test
  void aResetReachesThePeerAndDropsWhatWasNotSent() {
    int listener = keep(Sockets.listen(InetEndpoint.parse("127.0.0.1:0"), 8));
    int client = keep(Sockets.stream(Sockets.local(listener)));
    Sockets.connect(client, Sockets.local(listener));
    assertThat(Sockets.poll(listener, Sockets.POLLIN, 5000)).isEqualTo(Sockets.POLLIN);
    int server = keep(Sockets.accept(listener));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(1 << 16);
      long sent = 0;
      for (long n = 0; n >= 0; n = Sockets.send(client, bytes.address(), bytes.byteSize())) {
        sent += n;
      }

      Sockets.reset(client);

      long received = 0;
      long n = 1;
      while (n > 0) {
        n = Sockets.receive(server, bytes.address(), bytes.byteSize());
        received += Math.max(0, n);
      }
      assertThat(n).isEqualTo(-Sockets.ECONNRESET);
      assertThat(received).isLessThan(sent);
    }
  }

  @Test
  void reportsARefusedConnect() {
    int listener = Sockets.listen(InetEndpoint.parse("127.0.0.1:0"), 8);
    InetEndpoint gone = Sockets.local(listener);
    Sockets.close(listener);
    int client = keep(Sockets.stream(gone));

    int begun = Sockets.connect(client, gone);
    if (begun == -Sockets.EINPROGRESS) {
      Sockets.poll(client, Sockets.POLLOUT, 5000);
      begun = -Sockets.pendingError(client);
    }
    assertThat(Errno.name(-begun)).isEqualTo("ECONNREFUSED");
  }

  @Test
  void closingTwiceIsAMistakeThatIsSeen() {
    int fd = Sockets.listen(InetEndpoint.parse("127.0.0.1:0"), 1);
    Sockets.close(fd);

    assertThatThrownBy(() -> Sockets.close(fd)).isInstanceOf(NetException.class).hasMessageContaining("EBADF");
  }

  private int keep(int fd) {
    assertThat(fd).isNotNegative();
    open.add(fd);
    return fd;
  }

  private static void places(MemorySegment iovec, long... addressesAndLengths) {
    MemorySegment.copy(addressesAndLengths, 0, iovec, ValueLayout.JAVA_LONG, 0, addressesAndLengths.length);
  }

  private static String text(MemorySegment in, long offset, long length) {
    return new String(in.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII);
  }

}
