/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** After a sticky error of the driver: transfers of the device's memory say which one, those of the host go on. */
class LostDeviceTest {

  private static void check(List<String> said) {
    assertThat(said.get(0)).startsWith("before: Done");
    assertThat(said.get(1)).startsWith("device: Failed").contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assertThat(said.get(2)).startsWith("host: Done");
    assertThat(said.get(3)).isEqualTo("bytes: 42");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpu-ipc,tcp", "shm", "tcp"})
  void aFakeOne(String transports) {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    LostDevice.run(
        new FakeCuda(new FakeGpu(1, 1L << 30).workInBackground()).start(),
        new PrintStream(said, true, StandardCharsets.UTF_8),
        transports.split(","));
    check(said.toString(StandardCharsets.UTF_8).lines().toList());
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpu-ipc,tcp", "shm", "tcp"})
  @EnabledIf(
      value = "dev.hawser.memory.cuda.Cuda#present",
      disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
  void aRealOneInAProcessOfItsOwn(String transports) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                LostDevice.class.getName()));
    command.addAll(List.of(transports.split(",")));
    Process child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    List<String> said = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
    check(said);
    assertThat(said.getLast()).isEqualTo("closed");
    assertThat(child.exitValue()).isZero();
  }
}
