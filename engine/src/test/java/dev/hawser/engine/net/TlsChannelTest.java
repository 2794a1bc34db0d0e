/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.memory.ffi.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Random;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TlsChannelTest {
  @TempDir
  static Path folder;
  private static SSLContext own;
  private static SSLContext other;

  private final int[] pair = Sockets.pair();

  @BeforeAll
  static void makeCertificates() {
    own = context(TestCertificates.selfSigned(folder, "own"));
    other = context(TestCertificates.selfSigned(folder, "other"));
  }

  private static SSLContext context(TlsConfig config) {
    return TlsContexts.of(
        Objects.requireNonNull(config.certificate()),
        Objects.requireNonNull(config.privateKey()),
        Objects.requireNonNull(config.trust()));
  }

  @AfterEach
  void close() {
    Sockets.close(pair[0]);
    Sockets.close(pair[1]);
  }

  @ParameterizedTest
  @EnumSource
  void movesBytesBothWaysThroughSmallSocketBuffers(TlsChannel.Reading reading) throws SSLException {
    TlsChannel client = new TlsChannel(pair[0], TlsContexts.engine(own, true), reading);
    TlsChannel server = new TlsChannel(pair[1], TlsContexts.engine(own, false), reading);
    shake(client, server);

    byte[] sent = new byte[3_000_001];
    new Random(7).nextBytes(sent);
    assertThat(transfer(client, server, sent)).isEqualTo(sent);
    assertThat(transfer(server, client, sent)).isEqualTo(sent);
  }

  @Test
  void exactReadingLeavesTheNextRecordInTheSocket() throws SSLException {
    TlsChannel client = new TlsChannel(pair[0], TlsContexts.engine(own, true), TlsChannel.Reading.EXACT);
    TlsChannel server = new TlsChannel(pair[1], TlsContexts.engine(own, false), TlsChannel.Reading.EXACT);
    shake(client, server);
    assertThat(server.write(ByteBuffer.wrap(new byte[] {1, 2, 3}))).isEqualTo(3);
    assertThat(server.write(ByteBuffer.wrap(new byte[] {4, 5}))).isEqualTo(2);

    ByteBuffer first = ByteBuffer.allocate(3);
    assertThat(client.read(first)).isEqualTo(3);
    assertThat(client.holdsInput()).isFalse();

    // Another channel takes the socket over, as a transport does, and finds the rest.
    TlsChannel next = new TlsChannel(pair[0], client.engine(), TlsChannel.Reading.AHEAD);
    ByteBuffer second = ByteBuffer.allocate(8);
    assertThat(next.read(second)).isEqualTo(2);
    assertThat(second.flip()).isEqualTo(ByteBuffer.wrap(new byte[] {4, 5}));
  }

  @Test
  void strangersAreNotTrusted() {
    TlsChannel client = new TlsChannel(pair[0], TlsContexts.engine(other, true), TlsChannel.Reading.EXACT);
    TlsChannel server = new TlsChannel(pair[1], TlsContexts.engine(own, false), TlsChannel.Reading.EXACT);

    assertThatThrownBy(() -> shake(client, server)).isInstanceOf(SSLException.class);
  }

  @Test
  void whatIsNoTlsIsNamed() {
    TlsChannel server = new TlsChannel(pair[1], TlsContexts.engine(own, false), TlsChannel.Reading.EXACT);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom("GET / HTTP/1.1\r\n\r\n");
      Sockets.send(pair[0], text.address(), text.byteSize());
    }

    assertThatThrownBy(server::handshake).isInstanceOf(SSLException.class).hasMessageContaining("does not speak TLS");
  }

  @Test
  void filesThatCannotBeUsedAreNamed() throws IOException {
    TlsConfig good = TestCertificates.selfSigned(folder, "good");
    Path certificate = Objects.requireNonNull(good.certificate());
    Path key = Objects.requireNonNull(good.privateKey());
    Path garbage = Files.writeString(folder.resolve("garbage.pem"), "not PEM");

    assertThatThrownBy(() -> TlsContexts.of(garbage, key, certificate)).hasMessageContaining("garbage.pem");
    assertThatThrownBy(() -> TlsContexts.of(certificate, garbage, certificate)).hasMessageContaining("garbage.pem");
    assertThatThrownBy(() -> TlsContexts.of(certificate, key, folder.resolve("missing")))
        .hasMessageContaining("missing");
  }

  private static void shake(TlsChannel client, TlsChannel server) throws SSLException {
    boolean done = false;
    while (!done) {
      boolean left = step(client);
      boolean right = step(server);
      done = left && right;
    }
  }

  private static boolean step(TlsChannel channel) throws SSLException {
    TlsChannel.Handshake state = channel.handshake();
    while (state == TlsChannel.Handshake.TASK) {
      Runnable task = channel.engine().getDelegatedTask();
      if (task != null) {
        task.run();
      }
      state = channel.handshake();
    }
    return state == TlsChannel.Handshake.DONE;
  }

  private static byte[] transfer(TlsChannel from, TlsChannel to, byte[] bytes) throws SSLException {
    ByteBuffer source = ByteBuffer.wrap(bytes);
    ByteBuffer destination = ByteBuffer.allocate(bytes.length);
    while (destination.hasRemaining()) {
      if (source.hasRemaining()) {
        check(from.write(source), 0);
      } else {
        from.flush();
      }
      check(to.read(destination), 1);
    }
    return destination.array();
  }

  private static void check(long n, long least) {
    if (n < least && n != -Errno.EAGAIN) {
      throw new AssertionError("a call gave " + n);
    }
  }
}
