/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The network lab, in its short form: rails of 250 Mb/s, so that what is measured is how the rails are used and not how
 * fast this machine is, and twice the tolerance of the long form, since a build machine has other work, too: beside builds
 * single requests of 1 MiB wait for a processor, not for the network. All else was within the tolerances themselves. Skipped by
 * name where there are no network namespaces to be made.
 */
class NetLabIT {
  private static final Path HOME = Path.of("..").toAbsolutePath().normalize();
  private static final Path LAB = HOME.resolve("perf/labs/net");
  private static final int LAB_FAILED = 125;
  private static final int ROUNDS = 3;

  @TempDir
  private Path folder;

  @BeforeEach
  void needsNamespaces() throws IOException, InterruptedException {
    Files.createDirectory(folder.resolve("bin"));
    Path hawser = folder.resolve("bin/hawser");
    Files.writeString(hawser, """
        #!/bin/sh
        exec '%s' --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC -cp '%s' %s "$@"
        """.formatted(Path.of(System.getProperty("java.home"), "bin", "java"), System.getProperty("java.class.path"),
        Hawser.class.getName()));
    Files.setPosixFilePermissions(hawser, PosixFilePermissions.fromString("rwxr-xr-x"));
    Result result = lab("run.sh", 60, "--targets", "0", "--rails", "1", "--", "iperf3", "--version");
    assumeTrue(result.code == 0, "the network lab needs root, and: apt-get install -y --no-install-recommends iproute2 "
        + "iptables iperf3 util-linux; it says: " + result.output.strip());
  }

  private record Result(int code, String output) {}

  private Result lab(String script, int seconds, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(LAB.resolve(script).toString()));
    command.addAll(List.of(arguments));
    Path log = folder.resolve("lab.log");
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(HOME.toFile()).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("HAWSER_LAB_BIN", folder.resolve("bin").toString());
    Process process = builder.start();
    try {
      assertThat(process.waitFor(seconds, TimeUnit.SECONDS)).as("it ends; so far: %s", Files.readString(log)).isTrue();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly); // the namespaces end with them
      process.destroyForcibly();
    }
    return new Result(process.exitValue(), Files.readString(log, StandardCharsets.UTF_8));
  }

  @Test
  @Timeout(value = 2, unit = TimeUnit.MINUTES)
  void aFaultThatDidNotHappenFailsTheRun() throws Exception {
    Result early = lab("run.sh", 60, "--targets", "0", "--cut", "1@30s", "--", "sleep", "1");
    assertThat(early.code).as(early.output).isEqualTo(LAB_FAILED);
    assertThat(early.output).contains("0 of 1 events happened");

    String traffic =
        "ip netns exec h2 iperf3 -s -1 -B 10.77.0.2 >/dev/null & sleep 0.5; iperf3 -c 10.77.0.2 -t 3 >/dev/null";
    Result idle = lab("run.sh", 60, "--targets", "0", "--blackhole", "1@1s", "--", "sh", "-c", traffic);
    assertThat(idle.code).as(idle.output).isEqualTo(LAB_FAILED);
    assertThat(idle.output).contains("it had carried next to nothing before");
  }

  /** Those that fall short of a speed, by themselves again: other work of the machine is over then, a fault of ours is not. */
  @Test
  @Timeout(value = 12, unit = TimeUnit.MINUTES)
  void everyScenarioComesOutAsWanted() throws Exception {
    List<String> left = List.of("sum", "slow", "ecmp", "cut", "blackhole", "incast", "random");
    StringBuilder all = new StringBuilder();
    for (int round = 0; round < ROUNDS && !left.isEmpty(); round++) {
      List<String> arguments = new ArrayList<>(List.of("--rate", "250mbit", "--relax", "2"));
      arguments.addAll(left);
      Result result = lab("scenarios.sh", 450, arguments.toArray(String[]::new));
      System.out.print(result.output);
      all.append(result.output);
      left = result.code == 0 ? List.of() : thatFellShort(result.output, left);
      assertThat(left).as("a request lost under faults is no matter of speed: %s", all).doesNotContain("random");
    }

    assertThat(left).as(all.toString()).isEmpty();
  }

  /** All of them if the output does not say which. */
  private static List<String> thatFellShort(String output, List<String> ran) {
    List<String> fell =
        ran.stream()
            .filter(
                name -> output.lines()
                    .anyMatch(line -> line.startsWith(name) && line.matches(".*(FALLS SHORT|FAILED).*")))
            .toList();
    return fell.isEmpty() ? ran : fell;
  }
}
