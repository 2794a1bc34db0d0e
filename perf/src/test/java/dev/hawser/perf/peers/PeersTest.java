/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class PeersTest {
  private static final Duration SHORT = Duration.ofMillis(50);
  private static final long MIB = 1 << 20;

  private static PeerRequest request(String transport, boolean read, boolean mapped, long bytes, long block) {
    return new PeerRequest(transport, read, mapped, bytes, block, 16 * MIB, SHORT);
  }

  private static Peer named(String name) {
    return Peer.all().stream().filter(peer -> peer.name().equals(name)).findFirst().orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"memcpy, shm, true, 1048576, 1048576, GBYTES_PER_S", "memcpy, shm, true, 1048576, 4096, GBYTES_PER_S",
      "memcpy, shm, false, 1048576, 1048576,", "memcpy, tcp, true, 1048576, 1048576,", "memcpy, shm, true, 8, 8,",
      "process_vm, shm, false, 1048576, 4096, GBYTES_PER_S", "process_vm, shm, true, 1048576, 4096,",
      "pingpong, tcp, true, 8, 8, LATENCY_US", "pingpong, tcp, true, 1048576, 1048576,", "pingpong, shm, true, 8, 8,",
      "iperf3, tcp, true, 1048576, 1048576, GBYTES_PER_S", "iperf3, tcp, true, 1048576, 4096,",
      "iperf3, tcp, true, 8, 8,",
      "tcp_stream, tcp, false, 1048576, 4096, GBYTES_PER_S", "tcp_stream, tcp, true, 8, 8,",
      "tcp_stream, tcp, true, 16777216, 4096,", "tcp_stream, shm, true, 1048576, 4096,",
      "ucx_perftest, shm, true, 8, 8, LATENCY_US",
      "ucx_perftest, tcp, true, 1048576, 1048576, GBYTES_PER_S", "ucx_perftest, tcp, true, 1048576, 4096,"})
  void eachHasSomethingToCompareOrNot(String name, String transport, boolean mapped, long bytes, long block,
      Peer.Metric metric) {
    assertThat(named(name).metric(request(transport, false, mapped, bytes, block)))
        .isEqualTo(Optional.ofNullable(metric));
  }

  static List<Peer> ownPrograms() {
    return List.of(new MemcpyPeer(), new ProcessVm(), new PingPong(), new TcpStream());
  }

  @ParameterizedTest
  @MethodSource("ownPrograms")
  void theProgramsInCRun(Peer peer) {
    assumeTrue(peer.missing().isEmpty(), () -> peer.name() + ": " + peer.missing().orElse(""));
    boolean latency = peer instanceof PingPong;
    long bytes = latency ? 8 : MIB;

    double value =
        peer.measure(request(latency || peer instanceof TcpStream ? "tcp" : "shm", false, peer instanceof MemcpyPeer,
            bytes, latency ? 8 : 4096));

    assertThat(value).isBetween(0.01, 10_000.0);
  }

  @Test
  void processVmReadsToo() {
    Peer peer = new ProcessVm();
    assumeTrue(peer.missing().isEmpty(), () -> peer.missing().orElse(""));

    assertThat(peer.measure(request("shm", true, false, MIB, MIB))).isPositive();
  }

  @Test
  void iperf3RunsIfItIsHere() {
    Peer peer = new Iperf3();
    assumeTrue(peer.missing().isEmpty(), () -> "iperf3 is missing: " + peer.missing().orElse(""));

    assertThat(peer.measure(request("tcp", false, true, MIB, MIB))).isPositive();
  }

  @Test
  void theLastLineOfUcxIsRead() {
    String out = """
        iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
        3000,17.169,17.823,17.823,56108.34,1000.00,56108,56108
        """;

    assertThat(UcxPerftest.parse(out, true)).isEqualTo(17.169);
    assertThat(UcxPerftest.parse(out, false)).isEqualTo(1.048576);
    assertThatThrownBy(() -> UcxPerftest.parse("no device", false)).isInstanceOf(PeerException.class)
        .hasMessageContaining("'no device'");
    assertThatThrownBy(() -> UcxPerftest.parse("a,b,c,d,e,f,g,h", false)).isInstanceOf(PeerException.class);
    assertThatThrownBy(() -> UcxPerftest.parse("", true)).isInstanceOf(PeerException.class);
  }

  @Test
  void readsWhatPerftestPrints() {
    String out = """
         local address: LID 0000 QPN 0x0012 PSN 0x2e61c RKey 0x000314 VAddr 0x00000040678000
         #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
         1048576    900              0.00               4.00               0.000477
        """;
    assertThat(Perftest.parse("ib_write_bw", out)).isEqualTo(0.5);
    assertThatThrownBy(() -> Perftest.parse("ib_read_bw", out.replace("4.00", "0.00")))
        .isInstanceOf(PeerException.class)
        .hasMessageContaining("ib_read_bw");
    assertThatThrownBy(() -> Perftest.parse("ib_read_bw", out.replace("4.00", "fast")))
        .isInstanceOf(PeerException.class)
        .hasMessageContaining("1048576");
    assertThatThrownBy(() -> Perftest.parse("ib_read_bw", "Couldn't connect")).isInstanceOf(PeerException.class);
  }

  @Test
  void perftestStandsBesideVerbsOnly() {
    Perftest perftest = new Perftest();
    Duration second = Duration.ofSeconds(1);
    assertThat(perftest.metric(new PeerRequest("verbs", true, true, 1 << 20, 1 << 20, 1 << 26, second)))
        .contains(Peer.Metric.GBYTES_PER_S);
    assertThat(perftest.metric(new PeerRequest("verbs", false, true, 1 << 20, 1024, 1 << 26, second)))
        .contains(Peer.Metric.GBYTES_PER_S);
    assertThat(perftest.metric(new PeerRequest("verbs", false, true, 8, 8, 1 << 26, second))).isEmpty();
    assertThat(perftest.metric(new PeerRequest("tcp", false, true, 1 << 20, 1 << 20, 1 << 26, second))).isEmpty();
  }

  @Test
  void theLineOfTcpStreamIsRead() {
    assertThat(TcpStream.parse("1048576 0 0 2.500 0.4\n")).isEqualTo(2.5);
    for (String out : List.of("", "1 2 3", "1 2 3 four 5", "1 2 3 0 5")) {
      assertThatThrownBy(() -> TcpStream.parse(out)).isInstanceOf(PeerException.class)
          .hasMessageContaining("no figure");
    }
  }

  /** It is killed, and not tried again, though its server still runs. */
  @Test
  void whoHangsIsGivenUpOnce() {
    AtomicInteger tries = new AtomicInteger();
    List<ProcessHandle> started = new ArrayList<>();
    try (Programs.Running server = Programs.start(Map.of(), List.of("sleep", "600"))) {
      assertThatThrownBy(() -> Retry.untilServed(server, Duration.ofMinutes(1), () -> {
        tries.incrementAndGet();
        try (Programs.Running client = Programs.start(Map.of(), List.of("sleep", "601"))) {
          ProcessHandle.current().children()
              .filter(child -> child.info().commandLine().orElse("").endsWith("sleep 601"))
              .forEach(started::add);
          return client.output(SHORT);
        }
      })).isInstanceOf(PeerHangsException.class).hasMessageContaining("sleep has not ended");
    }
    assertThat(tries).hasValue(1);
    assertThat(started).hasSize(1)
        .allSatisfy(child -> assertThat(child.onExit()).succeedsWithin(SHORT.multipliedBy(100)));
  }

  @Test
  void whatIsNoFigureIsRefused() {
    assertThat(JsonLine.number("x", "{\"a\":{\"b\":2.5}}", "/a/b")).isEqualTo(2.5);
    for (String text : List.of("", "nonsense", "{}", "{\"a\":\"2\"}", "{\"a\":0}")) {
      assertThatThrownBy(() -> JsonLine.number("x", text, "/a")).isInstanceOf(PeerException.class)
          .hasMessageStartingWith("x printed");
    }
  }

  @Test
  void aProgramThatFailsIsQuoted() {
    List<String> failing = List.of("sh", "-c", "echo one >&2; echo 'the reason' >&2; exit 3");
    assertThatThrownBy(() -> Programs.run(failing, Duration.ofSeconds(10))).isInstanceOf(PeerException.class)
        .hasMessage("sh ended with 3: the reason");
    assertThatThrownBy(() -> Programs.run(List.of("no-such-program-anywhere"), SHORT))
        .isInstanceOf(PeerException.class).hasMessageContaining("cannot start no-such-program-anywhere");
  }

  @Test
  void aProgramThatHangsIsEnded() {
    Programs.Running running = Programs.start(Map.of(), List.of("sleep", "600"));
    try (running) {
      assertThatThrownBy(() -> running.output(SHORT)).isInstanceOf(PeerException.class)
          .hasMessageContaining("has not ended after");
    }
    long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (running.isAlive() && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }

    assertThat(running.isAlive()).isFalse();
  }

  @Test
  void missingProgramsNameTheirCure() {
    assertThat(Programs.find("no-such-program-anywhere")).isEmpty();
    assertThat(Programs.find("sh")).isPresent();
    assertThat(Peer.all()).allSatisfy(
        peer -> assertThat(peer.missing().orElse("apt install"))
            .contains(peer.ofDevices() ? "install" : "apt install"));
  }
}
