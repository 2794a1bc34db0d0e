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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The transport verbs on a real verbs stack: soft-RoCE in QEMU guests. Skipped by name where there is no QEMU. A busy host
 * makes the guests slow, so every time here is a multiple of what is usual.
 */
class RdmaLabIT {
  private static final Path HOME = Path.of("..").toAbsolutePath().normalize();
  private static final Path LAB = HOME.resolve("perf/labs/rdma/run.sh");

  private static final int LAB_FAILED = 125;

  /** What the lab says of a rail between two guests through which not even a ping came for a while: QEMU's, on a busy machine. */
  private static final String STANDS_STILL = " stands still: ";

  private static final String PASSED = "[1-9][0-9]* passed, 0 failed, 0 skipped";

  /** Memory of the guest in which the whole suite runs: one of its cases registers, and hence locks, 5 GiB. */
  private static final int SUITE_MEBIBYTES = 7168;

  private static final int SPARE_MEBIBYTES = 1024;
  private static final int PEER_PORT = 7400;

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

  @Test
  @Timeout(value = 12, unit = TimeUnit.MINUTES)
  void verbsPassesTheSuiteInOneGuest() throws Exception {
    needs(SUITE_MEBIBYTES + SPARE_MEBIBYTES);
    List<String> arguments =
        new ArrayList<>(List.of("one", "--memory", Integer.toString(SUITE_MEBIBYTES), "--timeout", "10m", "--"));
    arguments.addAll(java("", GuestSuite.class.getName(), "dev.hawser.engine.verbs.VerbsConformanceTest"));

    Result result = lab(700, arguments);

    assertThat(result.code()).as(result.output()).isZero();
    assertThat(result.output()).containsPattern(PASSED);
  }

  @Test
  @Timeout(value = 24, unit = TimeUnit.MINUTES)
  void verbsPassesTheSuiteBetweenTwoGuests() throws Exception {
    needs(2 * 2048 + SPARE_MEBIBYTES);
    String target =
        String.join(
            " ",
            java(
                "-Dhawser.conformance.listen=10.77.9.2:0",
                "dev.hawser.engine.testkit.conformance.PeerHost",
                "10.77.9.2:" + PEER_PORT));
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "two",
                "--target-command",
                "exec " + target,
                "--target-port",
                Integer.toString(PEER_PORT),
                "--target-wait",
                "3m",
                "--timeout",
                "8m",
                "--"));
    arguments.addAll(
        java(
            "-Dhawser.conformance.listen=10.77.9.1:0 -Dhawser.conformance.lab=/run/rdma-lab "
                + "-Dhawser.conformance.peer-host=10.77.9.2:" + PEER_PORT,
            GuestSuite.class.getName(),
            "dev.hawser.engine.verbs.VerbsFarConformanceTest",
            "dev.hawser.engine.verbs.VerbsLabTest"));

    Result result = lab(700, arguments);
    if (result.code() != 0 && result.output().contains(STANDS_STILL)) {
      System.err.println(result.output() + "\nThe emulated network broke down, so this says nothing: once more.");
      result = lab(700, arguments);
    }

    assertThat(result.code()).as(result.output()).isZero();
    assertThat(result.output()).containsPattern(PASSED).contains("cable 0 down", "cable 0 up");
  }

  /** A JVM as this one, for a guest: with the engine's tests, and times that a busy emulated machine keeps. */
  private static List<String> java(String properties, String... arguments) {
    Path tests = HOME.resolve("engine/target/test-classes");
    assertThat(tests).as("the engine's tests; build with: mvn -pl perf -am verify").isDirectory();
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "-ea",
                "-Dhawser.conformance.slowness=4"));
    if (!properties.isEmpty()) {
      command.addAll(List.of(properties.split(" ", -1)));
    }
    command.addAll(List.of("-cp", tests + ":" + System.getProperty("java.class.path")));
    command.addAll(List.of(arguments));
    return command;
  }

  private static void needs(int mebibytes) throws IOException {
    Matcher line = Pattern.compile("MemAvailable: +([0-9]+) kB").matcher(Files.readString(Path.of("/proc/meminfo")));
    long available = line.find() ? Long.parseLong(line.group(1)) >> 10 : 0;
    assumeTrue(
        available > mebibytes,
        "this part of the RDMA lab needs " + mebibytes + " MiB of free memory, and " + available + " are here");
  }
}
