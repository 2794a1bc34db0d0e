/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.memory.RegionBinder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A transport that only exchanges greetings, and whose connections are the bare socket. */
final class TestTransport implements Transport {
  final AtomicInteger open = new AtomicInteger();
  volatile @Nullable String refusal;
  private final String greeting;

  TestTransport(String greeting) {
    this.greeting = greeting;
  }

  final class Setup implements PathSetup {
    private final String mine;

    Setup(String mine) {
      this.mine = mine;
      open.incrementAndGet();
    }

    @Override
    public byte[] message() {
      return mine.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public Connection connect(byte[] peerMessage, BootstrapStream stream) {
      return new Socket(stream, new String(peerMessage, StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
      open.decrementAndGet();
    }
  }

  final class Socket extends IdleConnection {
    final BootstrapStream stream;
    final String peerGreeting;

    Socket(BootstrapStream stream, String peerGreeting) {
      super(new PathKey(0, 1));
      this.stream = stream;
      this.peerGreeting = peerGreeting;
    }

    @Override
    public String describe() {
      return stream.description();
    }

    @Override
    public void close() {
      stream.close();
      open.decrementAndGet();
    }
  }

  @Override
  public String name() {
    return "test";
  }

  @Override
  public TransportTraits traits() {
    return new TransportTraits(false, false, 8192, 64, 1 << 20, 1, 0);
  }

  @Override
  public RegionBinder binder() {
    throw new UnsupportedOperationException();
  }

  @Override
  public List<Rail> rails() {
    return List.of(rail());
  }

  static Rail rail() {
    return new Rail("test", "rail0", 0, 0);
  }

  @Override
  public byte[] description() {
    return new byte[0];
  }

  @Override
  public Reachability reach(byte[] peerDescription) {
    return new Reachability.Reachable(1, List.of(new Reachability.Route(rail(), "rail0")));
  }

  @Override
  public PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription) {
    return new Setup("offer of " + greeting);
  }

  @Override
  public PathSetup accept(String rail, String peer, PathKey key, byte[] offer) {
    String reason = refusal;
    if (reason != null) {
      throw new PathSetupException(reason);
    }
    return new Setup("answer of " + greeting);
  }

  @Override
  public void close() {}
}
