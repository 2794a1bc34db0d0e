/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.Interfaces.Interface;
import dev.hawser.engine.TlsConfig;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HawserConfigTest {
  @TempDir
  Path directory;

  private static HawserConfig of(String... pairs) {
    return HawserConfig.builder().environment(environment(pairs)).build();
  }

  private static Map<String, String> environment(String... pairs) {
    Map<String, String> environment = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      environment.put(pairs[i], pairs[i + 1]);
    }
    return environment;
  }

  @Test
  void hasDefaultsThatStayOnLoopback() {
    HawserConfig config = of();

    assertThat(config.listen()).containsExactly("127.0.0.1:0");
    assertThat(config.metadata()).isEmpty();
    assertThat(config.linkLease()).isEqualTo(Duration.ofSeconds(5));
    assertThat(config.heartbeat()).isEqualTo(Duration.ofSeconds(1));
    assertThat(config.secret().present()).isFalse();
    assertThat(config.tls()).isEqualTo(TlsConfig.OFF);
    assertThat(config.warnings()).isEmpty();
    assertThat(config.entries())
        .allSatisfy(entry -> assertThat(entry.origin().source()).isEqualTo(Origin.Source.DEFAULT));
  }

  @Test
  void programBeatsEnvironmentBeatsFileBeatsDefault() throws IOException {
    Path file = Files.writeString(directory.resolve("hawser.conf"),
        "# ours\n\nworkers = 1\npaths=2\n link-lease = 8s \n");
    Map<String, String> environment =
        environment("HAWSER_CONFIG", file.toString(), "HAWSER_WORKERS", "3", "HAWSER_PATHS", " 4 ");

    HawserConfig config = HawserConfig.builder().environment(environment).workers(5).build();

    assertThat(config.workers()).isEqualTo(5);
    assertThat(config.pathsPerRoute()).isEqualTo(4);
    assertThat(config.linkLease()).isEqualTo(Duration.ofSeconds(8));
    assertThat(config.drainTime()).isEqualTo(Duration.ofMillis(20));
    assertThat(config.entry(Setting.WORKERS).origin()).hasToString("program");
    assertThat(config.entry(Setting.PATHS).origin()).hasToString("environment HAWSER_PATHS");
    assertThat(config.entry(Setting.LINK_LEASE).origin()).hasToString("file " + file + ":5");
    assertThat(config.entry(Setting.DRAIN_TIME).origin()).hasToString("default");
    assertThat(config.entries()).extracting(HawserConfig.Entry::setting).containsExactly(Setting.values());
  }

  @Test
  void readsEveryKindOfValue() {
    HawserConfig config =
        of("HAWSER_METADATA", "http://a:1, https://[::1]:2/base", "HAWSER_LABELS", "role=prefill,rack=7",
            "HAWSER_LISTEN", "10.0.0.7:7301,[::1]:0,localhost", "HAWSER_TRANSPORTS", "tcp, shm",
            "HAWSER_TRANSPORT_SETTINGS", "verbs.mtu=1024", "HAWSER_ADVERTISE", "1.2.3.4:5", "HAWSER_DRAIN_TIME",
            "500us",
            "HAWSER_SECRET", "hush", "HAWSER_NAME", "me", "HAWSER_METADATA_TTL", "2m");

    assertThat(config.metadata()).containsExactly(URI.create("http://a:1"), URI.create("https://[::1]:2/base"));
    assertThat(config.labels()).isEqualTo(Map.of("role", "prefill", "rack", "7"));
    assertThat(config.listen()).containsExactly("10.0.0.7:7301", "[::1]:0", "127.0.0.1:0");
    assertThat(config.transports()).containsExactly("tcp", "shm");
    assertThat(config.transportSettings()).isEqualTo(Map.of("verbs.mtu", "1024"));
    assertThat(config.advertise()).containsExactly("1.2.3.4:5");
    assertThat(config.drainTime()).isEqualTo(Duration.ofNanos(500_000));
    assertThat(config.secret()).isEqualTo(Secret.of("hush"));
    assertThat(config.name()).isEqualTo("me");
    assertThat(config.metadataTtl()).isEqualTo(Duration.ofMinutes(2));
  }

  @Test
  void neverShowsTheSecret() {
    HawserConfig config = of("HAWSER_SECRET", "hush-hush");

    assertThat(config.toString()).doesNotContain("hush-hush");
    assertThat(config.entry(Setting.SECRET).value()).isEqualTo("(set)");
    assertThat(config.entry(Setting.SECRET).origin()).hasToString("environment HAWSER_SECRET");
  }

  @Test
  void readsTheSecretFromAFile() throws IOException {
    Path file = Files.writeString(directory.resolve("secret"), "hush\n");

    assertThat(of("HAWSER_SECRET_FILE", file.toString()).secret()).isEqualTo(Secret.of("hush"));
    assertThatThrownBy(() -> of("HAWSER_SECRET_FILE", file.toString(), "HAWSER_SECRET", "x"))
        .isInstanceOf(ConfigException.class).hasMessageContaining("both secret").hasMessageContaining("keep one");
    assertThatThrownBy(() -> of("HAWSER_SECRET_FILE", directory.resolve("none").toString()))
        .isInstanceOf(ConfigException.class).hasMessageContaining("secret-file").hasMessageContaining("cannot be read");
    assertThatThrownBy(() -> of("HAWSER_SECRET_FILE", directory.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining("it is a folder; name a file");
  }

  @Test
  void bringsTheHeartbeatDownWithTheLease() {
    assertThat(of("HAWSER_LINK_LEASE", "2s").heartbeat()).isEqualTo(Duration.ofMillis(500));
    assertThatThrownBy(() -> of("HAWSER_LINK_LEASE", "2s", "HAWSER_HEARTBEAT", "1s"))
        .isInstanceOf(ConfigException.class).hasMessageContaining("heartbeat").hasMessageContaining("500ms");
  }

  @Test
  void namesTheSettingTheOriginAndTheCureOfAWrongValue() {
    assertThatThrownBy(() -> of("HAWSER_WORKERS", "banana")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("workers: 'banana' is wrong (from environment HAWSER_WORKERS)")
        .hasMessageContaining("whole number from 0 to 1024");
    assertThatThrownBy(() -> of("HAWSER_METADATA", "localhost:7300")).hasMessageContaining("http://host:port");
    assertThatThrownBy(() -> of("HAWSER_METADATA", "http://a b")).hasMessageContaining("http://host:port");
    assertThatThrownBy(() -> of("HAWSER_LINK_LEASE", "5")).hasMessageContaining("its unit");
    assertThatThrownBy(() -> of("HAWSER_LINK_LEASE", "999h")).hasMessageContaining("'999h' is wrong")
        .hasMessageContaining("give 20ms to 1h");
    assertThatThrownBy(() -> of("HAWSER_LINK_LEASE", "99999999999999999999s")).hasMessageContaining("give 20ms to 1h");
    assertThatThrownBy(() -> of("HAWSER_WORKERS", "99999999999")).hasMessageContaining("from 0 to 1024");
    assertThatThrownBy(() -> of("HAWSER_STRICT", "maybe")).hasMessageContaining("true or false");
    assertThatThrownBy(() -> of("HAWSER_LABELS", "a")).hasMessageContaining("key=value");
    assertThatThrownBy(() -> of("HAWSER_LABELS", "a=1,a=2")).hasMessageContaining("twice");
    assertThatThrownBy(() -> of("HAWSER_LISTEN", "1.2.3.4:70000")).hasMessageContaining("0 to 65535");
    assertThatThrownBy(() -> of("HAWSER_LISTEN", "[::1")).hasMessageContaining("[v6 address]:port");
    assertThatThrownBy(() -> of("HAWSER_LISTEN", "nosuchnic0:1")).hasMessageContaining("interface that is up");
    assertThatThrownBy(() -> of("HAWSER_LISTEN", ",")).hasMessageContaining("at least one address");
    assertThatThrownBy(() -> of("HAWSER_ADVERTISE", "1.2.3.4")).hasMessageContaining("real port");
    assertThatThrownBy(() -> of("HAWSER_TLS_KEY", "/nowhere")).hasMessageContaining("no such file");
  }

  @Test
  void wantsCertificateAndKeyTogether() throws IOException {
    Path pem = Files.writeString(directory.resolve("a.pem"), "x");

    assertThatThrownBy(() -> of("HAWSER_TLS_CERTIFICATE", pem.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining("tls-key is missing");
    assertThat(of("HAWSER_TLS_CERTIFICATE", pem.toString(), "HAWSER_TLS_KEY", pem.toString()).tls().enabled()).isTrue();
  }

  @Test
  void warnsOfUnknownVariablesWithTheNearestName() {
    HawserConfig config = of("HAWSER_LISTN", "1.2.3.4:5", "HAWSER_QQQQQQQQQQQQ", "1", "OTHER", "1");

    assertThat(config.warnings()).hasSize(2);
    assertThat(config.warnings().getFirst()).contains("HAWSER_LISTN").contains("did you mean HAWSER_LISTEN?");
    assertThat(config.warnings().getLast()).contains("HAWSER_QQQQQQQQQQQQ").contains("hawser config");
    assertThatThrownBy(() -> of("HAWSER_LISTN", "1.2.3.4:5", "HAWSER_STRICT", "true"))
        .isInstanceOf(ConfigException.class).hasMessageContaining("did you mean HAWSER_LISTEN?");
  }

  @Test
  void leavesAloneWhatTheOtherProgramsOfOursRead() {
    HawserConfig config = of("HAWSER_PYTHON_JARS", "/jars", "HAWSER_LAB_KERNEL", "6.1",
        "HAWSER_JAVA_OPTS", "-Xmx1g", "HAWSER_STRICT", "true");

    assertThat(config.warnings()).isEmpty();
  }

  @Test
  void refusesATelemetryFileThatCannotBeWritten() throws IOException {
    assertThatThrownBy(() -> of("HAWSER_TELEMETRY", directory.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining("it is a folder; name a file");
    assertThatThrownBy(() -> of("HAWSER_TELEMETRY", directory.resolve("no/flows").toString()))
        .isInstanceOf(ConfigException.class).hasMessageContaining("make the folder " + directory.resolve("no"));
    Path file = Files.writeString(directory.resolve("file"), "");
    assertThatThrownBy(() -> of("HAWSER_TELEMETRY", file.resolve("flows").toString()))
        .isInstanceOf(ConfigException.class).hasMessageContaining("is no folder");
    Path flows = directory.resolve("flows");
    assertThat(of("HAWSER_TELEMETRY", flows.toString()).telemetry()).isEqualTo(flows.toString());
    assertThat(flows).as("the agent writes it").doesNotExist();
  }

  @Test
  void readsEachTransportSettingFromItsOwnVariable() {
    HawserConfig config = of("HAWSER_VERBS_GID_INDEX", "3", "HAWSER_TCP_SEND_BUFFER", "65536",
        "HAWSER_TRANSPORT_SETTINGS", "verbs.gid-index=1,verbs.mtu=1024");

    assertThat(config.warnings()).isEmpty();
    assertThat(config.transportSettings())
        .isEqualTo(Map.of("verbs.gid-index", "3", "verbs.mtu", "1024", "tcp.send-buffer", "65536"));
    HawserConfig.Entry shown = config.entry(Setting.TRANSPORT_SETTINGS);
    assertThat(shown.value()).isEqualTo("tcp.send-buffer=65536, verbs.gid-index=3, verbs.mtu=1024");
    assertThat(shown.origin()).hasToString(
        "environment HAWSER_TCP_SEND_BUFFER, HAWSER_VERBS_GID_INDEX, HAWSER_TRANSPORT_SETTINGS");
    assertThat(of("HAWSER_VERBS_GID_INDX", "3").warnings().getFirst())
        .contains("did you mean HAWSER_VERBS_GID_INDEX?");
  }

  /** On a host without an RDMA device, too: whoever writes the file is seldom on the one that has it. */
  @Test
  void refusesBadTransportSettingsWhereverItIsRead() {
    assertThatThrownBy(() -> of("HAWSER_VERBS_MTU", "1500")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("verbs.mtu=1500").hasMessageContaining("4096").hasMessageContaining("HAWSER_VERBS_MTU");
    assertThatThrownBy(() -> of("HAWSER_VERBS_RELAXED_ORDERING", "perhaps")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("neither true nor false");
    assertThatThrownBy(() -> of("HAWSER_TRANSPORT_SETTINGS", "tcp.send-buffer=-1")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("tcp.send-buffer=-1").hasMessageContaining("HAWSER_TRANSPORT_SETTINGS");
    assertThatThrownBy(() -> of("HAWSER_SHM_KERNEL_COPY", "maybe")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("shm.kernel-copy").hasMessageContaining("HAWSER_SHM_KERNEL_COPY");
    assertThatThrownBy(() -> of("HAWSER_TRANSPORT_SETTINGS", "verbs.mtuu=1024")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("'verbs.mtuu'").hasMessageContaining("did you mean 'verbs.mtu'?");
  }

  @Test
  void refusesTransportsThatThereAreNot() {
    assertThatThrownBy(() -> of("HAWSER_TRANSPORTS", "tcp,pigeon")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("'pigeon'").hasMessageContaining("shm, tcp, verbs")
        .hasMessageContaining("HAWSER_TRANSPORTS");
  }

  @Test
  void knowsWhatKubernetesInjects() {
    HawserConfig config = of("HAWSER_STRICT", "yes", "HAWSER_METADATA_SERVICE_HOST", "10.0.0.1",
        "HAWSER_METADATA_SERVICE_PORT", "7300", "HAWSER_METADATA_SERVICE_PORT_HTTP", "7300",
        "HAWSER_METADATA_PORT", "tcp://10.0.0.1:7300", "HAWSER_METADATA_PORT_7300_TCP", "tcp://10.0.0.1:7300",
        "HAWSER_METADATA_PORT_7300_TCP_PROTO", "tcp", "HAWSER_METADATA_PORT_7300_TCP_PORT", "7300",
        "HAWSER_METADATA_PORT_7300_TCP_ADDR", "10.0.0.1", "HAWSER_PORT", "tcp://1.2.3.4:5", "HAWSER_SERVICE_HOST", "x");

    assertThat(config.warnings()).isEmpty();
    assertThat(config.metadata()).isEmpty();
    assertThatThrownBy(() -> of("HAWSER_STRICT", "yes", "HAWSER_PORT", "7300")).hasMessageContaining("HAWSER_PORT");
  }

  @Test
  void noSettingCanBeMistakenForWhatKubernetesInjects() {
    for (Setting setting : Setting.values()) {
      assertThat(Environment.isInjected(setting.variable(), "tcp://1.2.3.4:5")).as(setting.variable()).isFalse();
    }
  }

  @Test
  void refusesWrongFilesByLine() throws IOException {
    Path file = directory.resolve("f");
    Files.writeString(file, "workers = 1\nwhat is this\n");
    assertThatThrownBy(() -> of("HAWSER_CONFIG", file.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining(file + ":2").hasMessageContaining("key = value");
    Files.writeString(file, "wokers = 1\n");
    assertThatThrownBy(() -> of("HAWSER_CONFIG", file.toString())).hasMessageContaining("did you mean 'workers'?");
    Files.writeString(file, "workers = 1\nworkers = 2\n");
    assertThatThrownBy(() -> of("HAWSER_CONFIG", file.toString())).hasMessageContaining("twice");
  }

  @Test
  void tellsWhatIsNoFileOfSettings() throws IOException {
    Path none = directory.resolve("none");
    assertThatThrownBy(() -> of("HAWSER_CONFIG", none.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining("HAWSER_CONFIG names " + none + ", which there is not").hasMessageContaining("unset it");
    assertThatThrownBy(() -> of("HAWSER_CONFIG", directory.toString())).isInstanceOf(ConfigException.class)
        .hasMessage("HAWSER_CONFIG names " + directory + ", which is a folder; name a file with lines of key = value");
    Path binary = Files.write(directory.resolve("binary"), new byte[] {(byte) 0xc3, 0x28, (byte) 0xff, 0});
    assertThatThrownBy(() -> of("HAWSER_CONFIG", binary.toString())).isInstanceOf(ConfigException.class)
        .hasMessageContaining("no text in UTF-8").hasMessageContaining("lines of key = value");
  }

  @Test
  void picksInterfacesLikeNccl() {
    List<Interface> interfaces = List.of(new Interface("lo", true, List.of("127.0.0.1")),
        new Interface("eth0", false, List.of("10.0.0.1", "fd00::1")),
        new Interface("eth01", false, List.of("10.0.0.2")),
        new Interface("ib0", false, List.of("10.1.0.1")), new Interface("eth9", false, List.of()));

    assertThat(Interfaces.pickedByNccl("eth", interfaces)).containsExactly("10.0.0.1", "10.0.0.2");
    assertThat(Interfaces.pickedByNccl("=eth0", interfaces)).containsExactly("10.0.0.1");
    assertThat(Interfaces.pickedByNccl("^eth", interfaces)).containsExactly("10.1.0.1");
    assertThat(Interfaces.pickedByNccl("^=eth0,ib0", interfaces)).containsExactly("10.0.0.2");
    assertThat(Interfaces.pickedByNccl("lo", interfaces)).containsExactly("127.0.0.1");
  }

  @Test
  void honoursNcclsInterfaceOnlyWhileNothingOfOursIsSet() {
    HawserConfig config = of("NCCL_SOCKET_IFNAME", "lo");
    assertThat(config.listen()).containsExactly("127.0.0.1:0");
    assertThat(config.entry(Setting.LISTEN).origin()).hasToString("environment NCCL_SOCKET_IFNAME");

    HawserConfig ours = of("NCCL_SOCKET_IFNAME", "nosuchnic", "HAWSER_LISTEN", "127.0.0.1:7");
    assertThat(ours.listen()).containsExactly("127.0.0.1:7");
    assertThatThrownBy(() -> of("NCCL_SOCKET_IFNAME", "nosuchnic")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("NCCL_SOCKET_IFNAME").hasMessageContaining("HAWSER_LISTEN");
  }

  @Test
  void honoursNcclsDevicesOnlyWhileNothingOfOursIsSet() {
    assertThat(of("NCCL_IB_HCA", "mlx5").transportSettings()).containsEntry("verbs.devices", "mlx5*");
    assertThat(of("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1").transportSettings())
        .containsEntry("verbs.devices", "mlx5_0:1,mlx5_1");
    assertThat(of("NCCL_IB_HCA", "^mlx5_3:1, bnxt").transportSettings())
        .containsEntry("verbs.devices", "^mlx5_3*:1,bnxt*");
    assertThat(of("NCCL_IB_HCA", "^=mlx5_3").transportSettings()).containsEntry("verbs.devices", "^mlx5_3");
    assertThat(of("NCCL_IB_HCA", " ").transportSettings()).doesNotContainKey("verbs.devices");
    HawserConfig.Entry shown = of("NCCL_IB_HCA", "mlx5").entry(Setting.TRANSPORT_SETTINGS);
    assertThat(shown.value() + " of " + shown.origin()).isEqualTo("verbs.devices=mlx5* of environment NCCL_IB_HCA");

    assertThat(of("NCCL_IB_HCA", "mlx5", "HAWSER_VERBS_DEVICES", "bnxt_re0").transportSettings())
        .containsEntry("verbs.devices", "bnxt_re0");
    assertThat(of("NCCL_IB_HCA", "mlx5", "HAWSER_TRANSPORT_SETTINGS", "verbs.devices=bnxt_re1").transportSettings())
        .containsEntry("verbs.devices", "bnxt_re1");
  }

  /** NCCL's rails and planes tell it devices apart, and nothing else. */
  @Test
  void takesNcclsDevicesOnlyAsNcclDocumentsThem() {
    assertThat(of("NCCL_IB_HCA", "=mlx5_0::0:1,mlx5_1:2:0").transportSettings())
        .containsEntry("verbs.devices", "mlx5_0,mlx5_1:2");
    assertThat(of("NCCL_IB_HCA", "mlx5_0:1:-1:-1").transportSettings()).containsEntry("verbs.devices", "mlx5_0*:1");
    assertThat(of("NCCL_IB_HCA", "=mlx5_0,,mlx5_1,").transportSettings())
        .containsEntry("verbs.devices", "mlx5_0,mlx5_1");
    for (String wrong : List.of("^", "=", "^=", ",,,", "mlx5_0:", "mlx5_0:banana", "mlx5_0:0", "mlx5_0:256",
        "mlx5_0:-1", "mlx5_0::", "mlx5_0:1:a", "mlx5_0:1:0:0:0", ":1", "mlx5_*", "=^mlx5", "mlx5_0,=mlx5_1",
        "mlx5 0")) {
      HawserConfig config = of("NCCL_IB_HCA", wrong);
      assertThat(config.transportSettings()).as(wrong).isEmpty();
      assertThat(config.warnings()).as(wrong).singleElement().asString()
          .contains("NCCL_IB_HCA='" + wrong + "' is not honoured: ").contains("names no device")
          .contains("=mlx5_0,mlx5_1:1").contains("HAWSER_VERBS_DEVICES");
      assertThatThrownBy(() -> of("NCCL_IB_HCA", wrong, "HAWSER_STRICT", "true")).as(wrong)
          .isInstanceOf(ConfigException.class).hasMessageContaining("NCCL_IB_HCA='" + wrong + "'");
    }
    assertThat(of("NCCL_IB_HCA", "\033[31m" + "a".repeat(9_000) + ":").warnings()).singleElement().asString()
        .contains("NCCL_IB_HCA='?[31ma").hasSizeLessThan(800);
    assertThat(of("NCCL_IB_HCA", "^=", "HAWSER_VERBS_DEVICES", "bnxt_re0").transportSettings())
        .as("it counts for nothing then").containsEntry("verbs.devices", "bnxt_re0");
  }

  @Test
  void variablesAreUnique() {
    Set<String> seen = new HashSet<>();
    for (Setting setting : Setting.values()) {
      assertThat(seen.add(setting.variable())).isTrue();
      assertThat(setting.meaning()).isNotBlank();
    }
  }

  @Test
  void measuresTypos() {
    assertThat(Spelling.distance("listen", "listen")).isZero();
    assertThat(Spelling.distance("lsiten", "listen")).isEqualTo(1);
    assertThat(Spelling.distance("liste", "listen")).isEqualTo(1);
    assertThat(Spelling.distance("", "abc")).isEqualTo(3);
    assertThat(Spelling.nearest("zzzzzz", List.of("listen", "name"))).isNull();
  }
}
