/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloHandler;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.OpenRequest;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.SocketBootstrap;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.memory.MemoryRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A target at which ever new initiators come and go keeps nothing for each of them. */
class ManyInitiatorsTest {
  private static final int NAMES = 1000;
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final Duration LEASE = Duration.ofMillis(200);

  private final MemoryRegistry registry = MemoryRegistry.create();
  private final WorkerEngine target = WorkerEngine.start(config("target", 7), registry, new SilentHandler());
  private final Transport transport = tcp();
  private final SocketBootstrap dialer = SocketBootstrap.listen(config("dialer", 3));

  @AfterEach
  void close() {
    dialer.close();
    transport.close();
    target.close();
    registry.close();
  }

  private static EngineConfig config(String name, long epoch) {
    return new EngineConfig(name, epoch, List.of("127.0.0.1:0"), List.of("tcp"), List.of(), 0, 0, LEASE,
        LEASE.dividedBy(4), LONG, Duration.ofMillis(20), 1024, new byte[0], TlsConfig.OFF, Map.of());
  }

  private Transport tcp() {
    for (TransportProvider provider : ServiceLoader.load(TransportProvider.class)) {
      if (provider.name().equals("tcp") && provider.create(new TransportContext(registry, "dialer", 3,
          List.of("127.0.0.1"), Map.of())) instanceof TransportProvider.Outcome.Present(Transport made)) {
        return made;
      }
    }
    throw new AssertionError("there is no tcp here");
  }

  private OpenResult open(String name, int session, PathKey key)
      throws InterruptedException, ExecutionException, TimeoutException {
    Hello hello = new Hello(name, 3, "target", 7, session, 1, key, "tcp", transport.rails().getFirst().name());
    CompletableFuture<OpenResult> result = new CompletableFuture<>();
    dialer.open(new OpenRequest(hello, transport.rails().getFirst(), target.listenAddresses(),
        Objects.requireNonNull(target.transportDescriptions().get("tcp")), LONG.toNanos()), result::complete);
    return result.get(LONG.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void thatLeaveAndThatAreCutOff() throws Exception {
    dialer.serve(List.of(transport), new NoTarget());
    for (int i = 0; i < NAMES; i++) {
      String name = "initiator-" + i;
      if (!(open(name, 0, new PathKey(1, 1)) instanceof OpenResult.Opened(Connection connection, Welcome welcome))) {
        throw new AssertionError(name + " was not let in");
      }
      if (i % 2 == 0) {
        assertThat(open(name, welcome.session(), new PathKey(1, 0))).isInstanceOf(OpenResult.Refused.class);
      }
      connection.abort();
      while (!connection.drained()) {
        Thread.onSpinWait();
      }
      connection.close();
    }

    long deadline = System.nanoTime() + LONG.toNanos();
    while (target.inboundLinks() > 0) {
      assertThat(System.nanoTime()).as("%d links are left", target.inboundLinks()).isLessThan(deadline);
      Thread.onSpinWait();
    }
    assertThat(target.departedInitiators()).isEqualTo(NAMES);

    // Who comes back gets the next session, and not one of the past.
    assertThat(open("initiator-0", 0, new PathKey(1, 1))).isInstanceOfSatisfying(OpenResult.Opened.class, opened -> {
      assertThat(opened.welcome().session()).isEqualTo(2);
      opened.connection().abort();
      opened.connection().close();
    });
  }

  private static final class NoTarget implements HelloHandler {
    @Override
    public void hello(Hello hello, HelloReply reply) {
      throw new IllegalStateException("nobody dials the dialer");
    }

    @Override
    public void connected(Hello hello, Welcome welcome, Connection connection) {}

    @Override
    public void abandoned(Hello hello, Welcome welcome) {}
  }
}
