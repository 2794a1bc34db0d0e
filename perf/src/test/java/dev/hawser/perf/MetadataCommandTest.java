/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.StoreConfig;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MetadataCommandTest {
  @Test
  void saysNothingMeansTheDefaults() {
    MetadataConfig config = config();

    assertThat(config.host()).isEqualTo("127.0.0.1");
    assertThat(config.port()).isEqualTo(7300);
    assertThat(config.store()).isEqualTo(new StoreConfig.Memory());
    assertThat(config.allowAnonymous()).isFalse();
    assertThat(config).usingRecursiveComparison().ignoringFields("port").isEqualTo(MetadataConfig.defaults());
  }

  @Test
  void takesEverythingElse() {
    MetadataConfig config = config("--listen", "[::1]:0", "--store", "etcd:http://a:2379,http://b:2379",
        "--etcd-prefix",
        "/x/", "--tokens", "tokens", "--tls-cert", "crt", "--tls-key", "key", "--tls-client-ca", "ca",
        "--tls-client-required", "--allow-anonymous", "--max-blob", "64K", "--max-agents", "7", "--max-memory", "2M",
        "--max-connections", "8", "--max-watchers", "9", "--event-loops", "2", "--watch-keepalive", "3s",
        "--shutdown-delay", "4s", "--shutdown-grace", "6s");

    assertThat(config.host()).isEqualTo("::1");
    assertThat(config.port()).isZero();
    StoreConfig.Etcd etcd = (StoreConfig.Etcd) config.store();
    assertThat(etcd.endpoints()).containsExactly(URI.create("http://a:2379"), URI.create("http://b:2379"));
    assertThat(etcd.prefix()).isEqualTo("/x/");
    assertThat(config.tokens()).contains(Path.of("tokens"));
    assertThat(config.tls().orElseThrow().clientAuthorities()).contains(Path.of("ca"));
    assertThat(config.tls().orElseThrow().clientsMust()).isTrue();
    assertThat(config.allowAnonymous()).isTrue();
    assertThat(config.maxBlobBytes()).isEqualTo(65_536);
    assertThat(config.maxAgents()).isEqualTo(7);
    assertThat(config.maxStoredBytes()).isEqualTo(2 << 20);
    assertThat(config.maxConnections()).isEqualTo(8);
    assertThat(config.maxWatchers()).isEqualTo(9);
    assertThat(config.eventLoops()).isEqualTo(2);
    assertThat(config.watchKeepalive()).isEqualTo(Duration.ofSeconds(3));
    assertThat(config.shutdownDelay()).isEqualTo(Duration.ofSeconds(4));
    assertThat(config.shutdownGrace()).isEqualTo(Duration.ofSeconds(6));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "--listen banana       | --listen banana is not HOST:PORT",
      "--listen a:           | --listen a: is not HOST:PORT",
      "--listen a:99999      | port is 99999; give 0 to 65535",
      "--store redis         | write memory, or etcd:",
      "--tls-cert x          | TLS needs --tls-cert and --tls-key",
      "--tls-client-ca x     | TLS needs --tls-cert and --tls-key",
      "--max-blob 1T         | an option is out of its limits",
      "--max-agents 0        | maxAgents is 0; give 1 to 10000000",
  })
  void wrongUsageIsOneLineAndTwo(String options, String message) {
    StringWriter err = new StringWriter();
    String[] words = ("metadata " + options).split(" +");

    int code = Hawser.run(new PrintWriter(new StringWriter()), new PrintWriter(err, true), words);

    assertThat(code).isEqualTo(2);
    assertThat(err.toString().strip()).contains(message).doesNotContain("\n");
  }

  @Test
  void doesNotListenBeyondLoopbackWithoutBeingTold() {
    StringWriter err = new StringWriter();

    int code = Hawser.run(new PrintWriter(new StringWriter()), new PrintWriter(err, true), "metadata", "--listen",
        "0.0.0.0:0");

    assertThat(code).isEqualTo(1);
    assertThat(err.toString().strip()).contains("--tokens").contains("--allow-anonymous").doesNotContain("\n");
  }

  private static MetadataConfig config(String... options) {
    MetadataCommand command = new MetadataCommand();
    new CommandLine(command).registerConverter(Duration.class, new DurationConverter()).parseArgs(options);
    return command.config();
  }
}
