/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

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
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestCertificates;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The transport as the engine meets it. */
class TcpTransportTest {
  private static final String HOST = "boot/net";

  @Test
  void isFoundByItsName() {
    assertThat(ServiceLoader.load(TransportProvider.class).stream().map(it -> it.get().name())).contains("tcp");
  }

  @ParameterizedTest
  @CsvSource({"127.0.0.1:0, false", "[::1]:0, false", "127.0.0.1:0, true"})
  void movesBytesFromOneAgentToAnother(String listen, boolean encrypted, @TempDir Path folder) throws Exception {
    TlsConfig tls = encrypted ? TestCertificates.selfSigned(folder, "cluster") : TlsConfig.OFF;
    MemoryRegistry registry = MemoryRegistry.create();
    CompletableFuture<Connection> accepted = new CompletableFuture<>();
    try (registry;
        SocketBootstrap left = SocketBootstrap.listen(config("a", listen, tls));
        SocketBootstrap right = SocketBootstrap.listen(config("b", listen, tls))) {
      Transport here = transport(left, registry);
      Transport there = transport(right, registry);
      left.serve(List.of(here), new Welcoming(new CompletableFuture<>()));
      right.serve(List.of(there), new Welcoming(accepted));
      Reachability reachable = here.reach(there.description());
      Reachability.Route route = ((Reachability.Reachable) reachable).routes().getFirst();
      assertThat(route.remote()).isEqualTo(there.rails().getFirst().name());

      CompletableFuture<OpenResult> opened = new CompletableFuture<>();
      PathKey key = new PathKey(7, 2);
      left.open(
          new OpenRequest(
              new Hello("a", 1, "b", 1, 0, 1, key, "tcp", route.remote()),
              route.local(),
              right.listenAddresses(),
              there.description(),
              Duration.ofSeconds(20).toNanos()),
          opened::complete);
      OpenResult result = opened.get(30, TimeUnit.SECONDS);
      assertThat(result).isInstanceOf(OpenResult.Opened.class);
      Connection initiator = ((OpenResult.Opened) result).connection();
      Connection target = accepted.get(10, TimeUnit.SECONDS);
      assertThat(initiator.key()).isEqualTo(key);
      assertThat(target.key()).isEqualTo(key);

      Region local = registry.allocate(1 << 20, Access.LOCAL);
      Region remote = registry.allocate(1 << 20, Access.REMOTE_WRITE);
      Pattern.fill(local, 1);
      DataRequest request = new DataRequest();
      assertThat(
          initiator.postData(
              1, request.set(DataRequest.Op.WRITE, 1, 0, TcpRig.plan(local, 0, remote, 0, 1 << 20), 0, 1 << 20)))
          .isTrue();
      Recorder events = new Recorder();
      Recorder atTarget = new Recorder();
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (events.completions.isEmpty()) {
        initiator.flushPosted();
        initiator.poll(events);
        target.poll(atTarget);
        assertThat(System.nanoTime()).isLessThan(deadline);
      }
      assertThat(events.statuses()).containsExactly(WorkStatus.SUCCESS);
      Pattern.check(remote, 0, 1 << 20, 1, 0);
      assertThat(initiator.progress()).isPositive();
      assertThat(target.progress()).isGreaterThan(1 << 20);
      initiator.close();
      target.close();
      here.close();
      there.close();
    }
  }

  private record Welcoming(CompletableFuture<Connection> accepted) implements HelloHandler {
    @Override
    public void hello(Hello hello, HelloReply reply) {
      reply.welcome(new Welcome(1, 1, 3000, 10, 0));
    }

    @Override
    public void connected(Hello hello, Welcome welcome, Connection connection) {
      accepted.complete(connection);
    }

    @Override
    public void abandoned(Hello hello, Welcome welcome) {
      accepted.completeExceptionally(new AssertionError("abandoned"));
    }
  }

  private static EngineConfig config(String name, String listen, TlsConfig tls) {
    return new EngineConfig(
        name,
        1,
        List.of(listen),
        List.of(),
        List.of(),
        0,
        0,
        Duration.ofSeconds(3),
        Duration.ofMillis(500),
        Duration.ofSeconds(5),
        Duration.ofMillis(20),
        1024,
        "secret".getBytes(StandardCharsets.UTF_8),
        tls,
        Map.of());
  }

  private static Transport transport(SocketBootstrap bootstrap, MemoryRegistry registry) {
    return transport(registry, bootstrap.listenHosts(), Map.of());
  }

  private static Transport transport(MemoryRegistry registry, List<String> hosts, Map<String, String> settings) {
    TransportProvider.Outcome outcome =
        new TcpTransportProvider().create(new TransportContext(registry, "agent", 1, hosts, settings));
    return ((TransportProvider.Outcome.Present) outcome).transport();
  }

  @Test
  void settingsThatCannotBeUsedAreNamed() {
    assertAbsent(Map.of("send-bufer", "1"), "tcp.send-bufer is not known", "tcp.send-buffer");
    assertAbsent(Map.of("send-buffer", "big"), "tcp.send-buffer=big is no whole number from 0 to 2147483647");
    assertAbsent(Map.of("send-buffer", "99999999999"), "=99999999999 is no whole number from 0 to 2147483647");
    assertAbsent(Map.of("receive-buffer", "-1"), "tcp.receive-buffer=-1 is no whole number from 0 to");
    assertAbsent(Map.of("staged-chunk-bytes", "1048577"), "tcp.staged-chunk-bytes=1048577", "from 1 to 1048576");
    assertAbsent(Map.of("staged-chunk-bytes", "0"), "tcp.staged-chunk-bytes=0 is no whole number from 1");
    assertThat(TcpSettings.of(Map.of("send-buffer", " 4096 ")).sendBufferBytes()).isEqualTo(4096);
  }

  private static void assertAbsent(Map<String, String> settings, String... parts) {
    assertThat(
        new TcpTransportProvider()
            .create(new TransportContext(MemoryRegistry.create(), "agent", 1, List.of("127.0.0.1"), settings)))
        .asInstanceOf(type(TransportProvider.Outcome.Absent.class))
        .satisfies(it -> assertThat(it.reason()).contains(parts));
  }

  @Test
  void loopbackOfAnotherHostIsOutOfReach() {
    TcpRails here = TcpRails.of(List.of("127.0.0.1"), HOST);

    assertThat(here.reach(new TcpDescription("other/net", List.of("127.0.0.1", "::1"))))
        .asInstanceOf(type(Reachability.Unreachable.class))
        .satisfies(it -> assertThat(it.reason()).contains("loopback only (127.0.0.1, ::1)", "let it listen"));
    assertThat(here.reach(new TcpDescription(HOST, List.of("127.0.0.1")))).isInstanceOf(Reachability.Reachable.class);
    assertThat(here.reach(new TcpDescription("", List.of()))).isInstanceOf(Reachability.Unreachable.class);
  }

  @Test
  void everyRailOfThePeerGetsARouteOfItsKind() {
    TcpRails here = TcpRails.of(List.of("127.0.0.1", "::1", "192.0.2.7", "192.0.2.8", "2001:db8:0:0:0:0:0:7"), HOST);

    Reachability reach =
        here.reach(
            new TcpDescription("other/net", List.of("127.0.0.1", "192.0.2.20", "192.0.2.21", "2001:db8:0:0:0:0:0:20")));

    assertThat(reach)
        .asInstanceOf(type(Reachability.Reachable.class))
        .satisfies(
            it -> assertThat(it.routes())
                .extracting(route -> route.local().name() + " " + route.remote())
                .containsExactly(
                    "192.0.2.7 192.0.2.20", "192.0.2.8 192.0.2.21",
                    "2001:db8:0:0:0:0:0:7 2001:db8:0:0:0:0:0:20"));
  }

  @Test
  void dialsTheRailThatWasChosen() {
    Transport transport = transport(MemoryRegistry.create(), List.of("127.0.0.1"), Map.of());
    List<String> addresses = List.of("192.0.2.1:80", "127.0.0.1:81", "127.0.0.1:82");

    assertThat(dial(transport, "127.0.0.1", addresses))
        .isEqualTo(new PathSetup.Dial(List.of("127.0.0.1:81", "127.0.0.1:82"), "127.0.0.1"));
    assertThat(dial(transport, "192.0.2.1", addresses)).isEqualTo(new PathSetup.Dial(List.of("192.0.2.1:80"), ""));
    assertThatThrownBy(() -> dial(transport, "192.0.2.9", addresses))
        .isInstanceOf(PathSetupException.class)
        .hasMessageContaining("192.0.2.9");
  }

  private static PathSetup.Dial dial(Transport transport, String remoteRail, List<String> addresses) {
    Reachability.Route route = new Reachability.Route(transport.rails().getFirst(), remoteRail);
    try (PathSetup setup = transport.initiate(route, "peer", new PathKey(0, 1), new byte[0])) {
      return setup.dial(addresses);
    }
  }

  @Test
  void offersAndDescriptionsThatAreCutShortAreRefused() {
    Transport transport = transport(MemoryRegistry.create(), List.of("127.0.0.1"), Map.of());
    byte[] offer = TcpOffer.OURS.encode();
    byte[] description = transport.description();
    for (int n = 0; n < offer.length; n++) {
      byte[] cut = Arrays.copyOf(offer, n);
      assertThatThrownBy(() -> transport.accept("127.0.0.1", "peer", new PathKey(0, 1), cut))
          .isInstanceOf(PathSetupException.class);
    }
    byte[] less = new TcpOffer(0, 1, 1, 1).encode();
    assertThatThrownBy(() -> transport.accept("127.0.0.1", "peer", new PathKey(0, 1), less))
        .hasMessageContaining("bears too little");
    byte[] older = TcpOffer.OURS.encode();
    older[2] = 0;
    byte[] newer = TcpOffer.OURS.encode();
    newer[3] = (byte) 0x80;
    assertThat(TcpOffer.check(offer).withdraws()).isTrue();
    assertThat(TcpOffer.check(older).withdraws()).isFalse();
    assertThat(TcpOffer.check(newer).withdraws()).isTrue();
    for (int n = 0; n < description.length; n++) {
      assertThat(transport.reach(Arrays.copyOf(description, n))).isInstanceOf(Reachability.Unreachable.class);
    }
    assertThat(transport.reach(description)).isInstanceOf(Reachability.Reachable.class);
  }
}
