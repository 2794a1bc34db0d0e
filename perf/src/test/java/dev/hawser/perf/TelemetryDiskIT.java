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
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Telemetry to a disk that takes nothing: the bytes move and are compared as ever, and each agent warns once, however often
 * it has tried.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class TelemetryDiskIT {
  private static final Pattern WARNING =
      Pattern.compile("telemetry of (\\S+) cannot be written to (\\S+) \\(([^)]*)\\)");

  @TempDir
  private Path folder;

  private record Result(int code, String output) {}

  /** Runs a shell's words, in which {@code $BENCH} is the command. */
  private Result run(String words, Path telemetry) throws IOException, InterruptedException {
    String bench =
        String.join(" ", Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED", Hawser.class.getName(),
            "bench --transport shm,tcp --op write --sizes 1M --warmup 0s --duration 300ms --verify full");
    Path log = folder.resolve("log");
    ProcessBuilder builder =
        new ProcessBuilder("sh", "-c", words).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("BENCH", bench);
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    builder.environment().put("HAWSER_TELEMETRY", telemetry.toString());
    builder.environment().put("HAWSER_TELEMETRY_INTERVAL", "10ms");
    Process process = builder.start();
    try {
      assertThat(process.waitFor(100, TimeUnit.SECONDS)).as("it ends; so far: %s", Files.readString(log)).isTrue();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    return new Result(process.exitValue(), Files.readString(log, StandardCharsets.UTF_8));
  }

  private static void assertWarnedOnce(Result result, Path telemetry, String why) {
    assertThat(result.code()).as(result.output()).isZero();
    List<String> agents =
        WARNING.matcher(result.output()).results().map(found -> {
          assertThat(found.group(2)).isEqualTo(telemetry.toString());
          assertThat(found.group(3)).isEqualTo(why);
          return found.group(1);
        }).collect(Collectors.toList());
    assertThat(agents).as("agents that have warned; the output: %s", result.output()).isNotEmpty()
        .doesNotHaveDuplicates();
  }

  @Test
  void aDiskThatIsFull() throws Exception {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "there is no /dev/full here");

    assertWarnedOnce(run("exec $BENCH", full), full, "No space left on device");
  }

  @Test
  void aDiskThatIsReadOnly() throws Exception {
    Path disk = Files.createDirectory(folder.resolve("disk"));
    Path flows = disk.resolve("flows");
    String mount = "unshare --mount --propagation private sh -c 'mount -t tmpfs -o ro none " + disk + " && ";
    assumeTrue(run(mount + "true'", flows).code() == 0, "mounting a disk needs root");

    assertWarnedOnce(run(mount + "exec $BENCH'", flows), flows, "Read-only file system");
  }
}
