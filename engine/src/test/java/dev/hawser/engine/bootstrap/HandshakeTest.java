/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.testkit.TestCertificates;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two agents that meet, or fail to, for every reason there is. */
class HandshakeTest {
  private final List<AutoCloseable> open = new ArrayList<>();
  private final LogCapture log = keep(new LogCapture());

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
    assertThat(log.lines()).noneMatch(line -> line.startsWith("SEVERE"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a secret"})
  void meetsAndHandsTheSocketOver(String secret) {
    TestAgent a = agent("a", secret);
    TestAgent b = agent("b", secret);

    OpenResult.Opened opened = opened(a.open(b));

    assertThat(opened.welcome()).isEqualTo(TestAgent.WELCOME);
    assertThat(b.next("hello").hello()).isEqualTo(a.hello("b"));
    TestAgent.Event connected = b.next("connected");
    assertThat(connected.hello()).isEqualTo(a.hello("b"));
    assertThat(connected.welcome()).isEqualTo(TestAgent.WELCOME);
    exchange(opened.connection(), Objects.requireNonNull(connected.connection()));
    assertThat(b.events).isEmpty();
    assertThat(log.lines()).isEmpty();
    assertThat(a.transport.open).hasValue(0);
    assertThat(b.transport.open).hasValue(0);
  }

  @Test
  void meetsOverIpv6() {
    TestAgent a = agent("a", "");
    TestAgent b = keep(new TestAgent("b", "", TlsConfig.OFF, BootstrapLimits.DEFAULT, "[::1]:0"));

    assertThat(b.address()).startsWith("[");
    OpenResult.Opened opened = opened(a.open(b));

    b.next("hello");
    exchange(opened.connection(), Objects.requireNonNull(b.next("connected").connection()));
  }

  @Test
  void wildcardsBecomeAddressesThatCanBeDialled() {
    TestAgent b = keep(new TestAgent("b", "", TlsConfig.OFF, BootstrapLimits.DEFAULT, "0.0.0.0:0"));

    assertThat(b.bootstrap.listenAddresses()).isNotEmpty().noneMatch(each -> each.startsWith("0.0.0.0"));
    for (String address : b.bootstrap.listenAddresses()) {
      assertThat(agent("a-" + address.replace(':', '-'), "").bootstrap.probe(address, Duration.ofSeconds(10)))
          .isInstanceOf(ProbeResult.Found.class);
    }
  }

  @Test
  void aWrongSecretIsRefusedOnBothSides() {
    TestAgent a = agent("a", "one");
    TestAgent b = agent("b", "another");

    Refusal refusal = refused(a.open(b));

    assertThat(refusal.code()).isEqualTo(Refusal.Code.AUTHENTICATION);
    assertThat(refusal.message()).contains(b.address()).contains("set the same on both");
    awaitLog("agent a has another secret");
    assertThat(b.events).isEmpty();
  }

  @Test
  void aSecretOnOneSideOnlyIsRefusedOnBothSides() {
    TestAgent with = agent("with", "secret");
    TestAgent without = agent("without", "");

    Refusal refusal = refused(with.open(without));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.AUTHENTICATION);
    assertThat(refusal.message()).contains("agent with has a secret, but agent without has none");
    awaitLog("agent with has a secret, but agent without has none");

    refusal = refused(without.open(with));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.AUTHENTICATION);
    assertThat(refusal.message()).contains("agent with has a secret, but agent without has none");
    assertThat(with.events).isEmpty();
    assertThat(without.events).isEmpty();
  }

  @Test
  void anotherAgentOrEpochIsRefused() {
    TestAgent a = agent("a", "secret");
    TestAgent b = agent("b", "secret");

    Refusal refusal = refused(a.open(a.hello("c"), b.address()));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.WRONG_AGENT);
    assertThat(refusal.message()).contains("this is agent b, epoch 7, not c");

    Hello stale = new Hello("a", 7, "b", 6, 0, 0, a.hello("b").key(), "test", "rail0");
    assertThat(refused(a.open(stale, b.address())).code()).isEqualTo(Refusal.Code.WRONG_AGENT);
    Hello any = new Hello("a", 7, "b", 0, 0, 0, a.hello("b").key(), "test", "rail0");
    opened(a.open(any, b.address())).connection().close();
  }

  @Test
  void unknownTransportsRailsAndOffersAreRefusedWithTheReason() {
    TestAgent a = agent("a", "secret");
    TestAgent b = agent("b", "secret");

    Hello rail = new Hello("a", 7, "b", 7, 0, 0, a.hello("b").key(), "test", "rail9");
    Refusal refusal = refused(a.open(rail, b.address()));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.TRANSPORT);
    assertThat(refusal.message()).isEqualTo("agent b has no rail rail9 of test, only rail0");

    b.transport.refusal = "no such port";
    refusal = refused(a.open(b));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.TRANSPORT);
    assertThat(refusal.message()).isEqualTo("no such port");
    b.next("hello");
    assertThat(b.next("abandoned").welcome()).isEqualTo(TestAgent.WELCOME);
    assertThat(a.transport.open).hasValue(0);
  }

  @Test
  void theHandlerMayRefuseOrAnswerLater() throws Exception {
    TestAgent a = agent("a", "secret");
    TestAgent b = agent("b", "secret");
    b.decision = (hello, reply) -> reply.refuse(new Refusal(Refusal.Code.SUPERSEDED, "gone"));
    assertThat(refused(a.open(b))).isEqualTo(new Refusal(Refusal.Code.SUPERSEDED, "gone"));

    LinkedBlockingQueue<HelloReply> replies = new LinkedBlockingQueue<>();
    b.decision = (hello, reply) -> replies.add(reply);
    CompletableFuture<OpenResult> waiting = a.begin(Duration.ofSeconds(20), a.hello("b"), b.address());
    HelloReply reply = Objects.requireNonNull(replies.poll(10, TimeUnit.SECONDS));
    // Others are served meanwhile.
    assertThat(a.bootstrap.probe(b.address(), Duration.ofSeconds(10))).isInstanceOf(ProbeResult.Found.class);
    assertThat(waiting).isNotDone();
    reply.welcome(TestAgent.WELCOME);
    opened(TestAgent.await(waiting)).connection().close();
    assertThatThrownBy(() -> reply.welcome(TestAgent.WELCOME)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anInitiatorThatLeftIsAbandoned() throws Exception {
    TestAgent a = agent("a", "secret");
    TestAgent b = agent("b", "secret");
    LinkedBlockingQueue<HelloReply> replies = new LinkedBlockingQueue<>();
    b.decision = (hello, reply) -> replies.add(reply);

    PathFault fault = failed(a.open(Duration.ofMillis(300), a.hello("b"), b.address()));

    assertThat(fault.kind()).isEqualTo(PathFault.Kind.TIMED_OUT);
    b.next("hello");
    awaitLog("the peer closed the connection");
    Objects.requireNonNull(replies.poll(10, TimeUnit.SECONDS)).welcome(TestAgent.WELCOME);
    b.next("abandoned");
    assertThat(b.transport.open).hasValue(0);
    assertThat(a.transport.open).hasValue(0);
  }

  @Test
  void probesSayWhoIsThere() {
    TestAgent a = agent("a", "secret");
    TestAgent b = agent("b", "secret");
    TestAgent c = agent("c", "");

    ProbeResult found = a.bootstrap.probe(b.address(), Duration.ofSeconds(10));
    assertThat(found)
        .asInstanceOf(type(ProbeResult.Found.class))
        .satisfies(
            it -> {
              assertThat(it.identity().name()).isEqualTo("b");
              assertThat(it.identity().epoch()).isEqualTo(7);
              assertThat(it.identity().pid()).isEqualTo(ProcessHandle.current().pid());
              assertThat(it.identity().host()).isNotEmpty();
            });
    assertThat(c.bootstrap.probe(b.address(), Duration.ofSeconds(10)))
        .asInstanceOf(type(ProbeResult.Refused.class))
        .satisfies(it -> assertThat(it.refusal().code()).isEqualTo(Refusal.Code.AUTHENTICATION));
  }

  @Test
  void probesOfNobodyEndInTime() throws IOException {
    TestAgent a = agent("a", "");
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      long start = System.nanoTime();
      ProbeResult silent = a.bootstrap.probe("127.0.0.1:" + mute.getLocalPort(), Duration.ofMillis(300));

      assertThat(silent)
          .asInstanceOf(type(ProbeResult.Silent.class))
          .satisfies(it -> assertThat(it.fault().kind()).isEqualTo(PathFault.Kind.TIMED_OUT));
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(250), Duration.ofSeconds(5));
    }
    assertThat(a.bootstrap.probe("127.0.0.1:1", Duration.ofSeconds(10)))
        .asInstanceOf(type(ProbeResult.Silent.class))
        .satisfies(it -> assertThat(it.fault().detail()).contains("127.0.0.1:1").contains("ECONNREFUSED"));
  }

  @Test
  void theNextAddressIsTriedAfterADeadAndAForeignOne() throws IOException {
    TestAgent a = agent("a", "");
    TestAgent b = agent("b", "");
    TestAgent stranger = agent("stranger", "");
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      OpenResult result =
          a.open(
              Duration.ofSeconds(4),
              a.hello("b"),
              "127.0.0.1:1",
              stranger.address(),
              "127.0.0.1:" + mute.getLocalPort(),
              b.address());

      opened(result).connection().close();
    }

    PathFault fault = failed(a.open(a.hello("b"), "127.0.0.1:1", stranger.address(), "[::1]:1"));
    assertThat(fault.detail())
        .contains("127.0.0.1:1: ECONNREFUSED")
        .contains("this is agent stranger")
        .contains(":1]:1: ECONNREFUSED");
  }

  @Test
  void aPortInUseIsOneClearError() {
    TestAgent a = agent("a", "");

    assertThatThrownBy(() -> new TestAgent("b", "", TlsConfig.OFF, BootstrapLimits.DEFAULT, a.address()))
        .isInstanceOf(BootstrapException.class)
        .hasMessageContaining("agent b cannot listen")
        .hasMessageContaining(a.address())
        .hasMessageContaining("port 0 takes a free one");
    assertThatThrownBy(() -> new TestAgent("b", "", TlsConfig.OFF, BootstrapLimits.DEFAULT, "banana"))
        .isInstanceOf(BootstrapException.class)
        .hasMessageContaining("'banana' is no address");
  }

  @Test
  void closingEndsWhatIsUnderWay() {
    TestAgent a = agent("a", "");
    TestAgent b = agent("b", "");
    b.decision = (hello, reply) -> {};
    CompletableFuture<OpenResult> waiting = a.begin(Duration.ofSeconds(60), a.hello("b"), b.address());
    b.next("hello");

    a.close();

    assertThat(failed(TestAgent.await(waiting)).kind()).isEqualTo(PathFault.Kind.ABORTED);
    assertThat(failed(a.open(b)).kind()).isEqualTo(PathFault.Kind.ABORTED);
    assertThat(a.transport.open).hasValue(0);
    assertThat(b.bootstrap.probe(a.address(), Duration.ofSeconds(10))).isInstanceOf(ProbeResult.Silent.class);
  }

  @Test
  void meetsOverTls(@TempDir Path folder) throws Exception {
    TlsConfig tls = TestCertificates.selfSigned(folder, "cluster");
    TestAgent a = keep(new TestAgent("a", "secret", tls, BootstrapLimits.DEFAULT, "127.0.0.1:0"));
    TestAgent b = keep(new TestAgent("b", "secret", tls, BootstrapLimits.DEFAULT, "127.0.0.1:0"));

    OpenResult.Opened opened = opened(a.open(b));

    b.next("hello");
    TestTransport.Socket server = (TestTransport.Socket) Objects.requireNonNull(b.next("connected").connection());
    assertThat(server.stream.encrypted()).isTrue();
    assertThat(Objects.requireNonNull(server.stream.tls()).getSession().getProtocol()).isEqualTo("TLSv1.3");
    assertThat(server.peerGreeting).isEqualTo("offer of a");
    server.close();
    opened.connection().close();
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void tlsOnOneSideOnlyIsRefusedWithTheReason(@TempDir Path folder) {
    TlsConfig tls = TestCertificates.selfSigned(folder, "cluster");
    TestAgent plain = agent("plain", "");
    TestAgent secure = keep(new TestAgent("secure", "", tls, BootstrapLimits.DEFAULT, "127.0.0.1:0"));

    Refusal refusal = refused(plain.open(secure));
    assertThat(refusal.code()).isEqualTo(Refusal.Code.AUTHENTICATION);
    assertThat(refusal.message()).contains("agent secure wants TLS");
    awaitLog("does not speak TLS");

    assertThat(failed(secure.open(plain)).detail()).contains("TLS");
    awaitLog("does not speak Hawser's protocol");
  }

  @Test
  void strangersCertificatesAreRefused(@TempDir Path folder) {
    TlsConfig one = TestCertificates.selfSigned(folder, "one");
    TlsConfig two = TestCertificates.selfSigned(folder, "two");
    TestAgent a = keep(new TestAgent("a", "", one, BootstrapLimits.DEFAULT, "127.0.0.1:0"));
    TestAgent b = keep(new TestAgent("b", "", two, BootstrapLimits.DEFAULT, "127.0.0.1:0"));

    Refusal refusal = refused(a.open(b));

    assertThat(refusal.code()).isEqualTo(Refusal.Code.AUTHENTICATION);
    assertThat(refusal.message()).contains("TLS");
    awaitLog("TLS");
    assertThat(b.events).isEmpty();
  }

  private TestAgent agent(String name, String secret) {
    return keep(new TestAgent(name, secret));
  }

  private <T extends AutoCloseable> T keep(T closeable) {
    open.add(closeable);
    return closeable;
  }

  private void awaitLog(String part) {
    long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (log.lines().stream().noneMatch(line -> line.contains(part))) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("'" + part + "' was not logged: " + log.lines());
      }
      Thread.onSpinWait();
    }
  }

  static OpenResult.Opened opened(OpenResult result) {
    assertThat(result).isInstanceOf(OpenResult.Opened.class);
    return (OpenResult.Opened) result;
  }

  static Refusal refused(OpenResult result) {
    assertThat(result).isInstanceOf(OpenResult.Refused.class);
    return ((OpenResult.Refused) result).refusal();
  }

  static PathFault failed(OpenResult result) {
    assertThat(result).isInstanceOf(OpenResult.Failed.class);
    return ((OpenResult.Failed) result).fault();
  }

  /** Both ends hold the two ends of one socket, with nothing in it. */
  private static void exchange(Connection initiator, Connection target) {
    TestTransport.Socket left = (TestTransport.Socket) initiator;
    TestTransport.Socket right = (TestTransport.Socket) target;
    assertThat(left.peerGreeting).isEqualTo("answer of b");
    assertThat(right.peerGreeting).isEqualTo("offer of a");
    assertThat(left.stream.encrypted()).isFalse();
    send(left.stream.fd(), 11);
    send(right.stream.fd(), 22);
    assertThat(receive(right.stream.fd())).isEqualTo(11);
    assertThat(receive(left.stream.fd())).isEqualTo(22);
    left.close();
    right.close();
  }

  private static void send(int fd, int value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_BYTE, (byte) value);
      assertThat(Sockets.send(fd, one.address(), 1)).isEqualTo(1);
    }
  }

  private static int receive(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment some = arena.allocate(8);
      assertThat(Sockets.poll(fd, Sockets.POLLIN, 10_000)).isEqualTo(Sockets.POLLIN);
      assertThat(Sockets.receive(fd, some.address(), 8)).isEqualTo(1);
      return some.get(ValueLayout.JAVA_BYTE, 0);
    }
  }
}
