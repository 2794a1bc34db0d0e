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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The RDMA lab: soft-RoCE in QEMU guests. Skipped by name where there is no QEMU. */
class RdmaLabIT {
  private static final Path HOME = Path.of("..").toAbsolutePath().normalize();
  private static final Path LAB = HOME.resolve("perf/labs/rdma/run.sh");

  private static final int LAB_FAILED = 125;

  @TempDir
  private Path folder;

  @BeforeAll
  static void needsQemu() {
    assumeTrue(
        Arrays.stream(System.getenv("PATH").split(":", -1))
            .anyMatch(place -> Files.isExecutable(Path.of(place, "qemu-system-x86_64"))),
        "the RDMA lab needs QEMU, which is not here: apt-get install -y --no-install-recommends qemu-system-x86 "
            + "busybox-static cpio kmod iproute2 ibverbs-providers ibverbs-utils perftest");
  }

  private record Result(int code, String output) {}

  private Result lab(int seconds, List<String> arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(LAB.toString()));
    command.addAll(arguments);
    Path log = folder.resolve("lab.log");
    Process process =
        new ProcessBuilder(command).directory(HOME.toFile()).redirectErrorStream(true).redirectOutput(log.toFile())
            .start();
    try {
      assertThat(process.waitFor(seconds, TimeUnit.SECONDS)).as("it ends; so far: %s", Files.readString(log)).isTrue();
    } finally {
      process.destroy(); // its trap takes the guests along
      process.waitFor(20, TimeUnit.SECONDS);
      process.destroyForcibly();
    }
    String output = Files.readString(log, StandardCharsets.UTF_8);
    assumeTrue(process.exitValue() != LAB_FAILED || !output.contains("not installed: "), output.strip());
    return new Result(process.exitValue(), output);
  }

  @Test
  @Timeout(value = 5, unit = TimeUnit.MINUTES)
  void findsDevicesGivesBackOutputAndExitCode() throws Exception {
    Result result =
        lab(
            280,
            List.of(
                "one", "--timeout", "60s", "--", "bash", "-c", "ls /sys/class/infiniband; echo to stderr >&2; exit 7"));

    assertThat(result.code()).as(result.output()).isEqualTo(7);
    assertThat(result.output()).contains("rxe0", "rxe1", "to stderr");
  }
}
