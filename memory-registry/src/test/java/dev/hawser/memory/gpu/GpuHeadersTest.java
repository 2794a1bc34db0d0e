/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Names, sizes and numbers of the bindings, against the vendors' headers, by the C compiler. */
class GpuHeadersTest {
  private static final Path CUDA = include("CUDA_INCLUDE", "/usr/local/cuda/include");
  private static final Path HIP = include("HIP_INCLUDE", "/usr/include");

  private static Path include(String variable, String usual) {
    String given = System.getenv(variable);
    return Path.of(given == null ? usual : given);
  }

  static boolean cudaHere() {
    return Files.exists(CUDA.resolve("cuda.h")) && compilerHere();
  }

  static boolean hipHere() {
    return Files.exists(HIP.resolve("hip").resolve("hip_runtime_api.h")) && compilerHere();
  }

  private static boolean compilerHere() {
    try {
      new ProcessBuilder("gcc", "--version").redirectOutput(ProcessBuilder.Redirect.DISCARD).start().destroy();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  @EnabledIf(
      value = "cudaHere",
      disabledReason = "no gcc, or no cuda.h; install NVIDIA's CUDA toolkit, or set CUDA_INCLUDE to its headers")
  void cudaAgreesWithItsHeader() throws Exception {
    compile("cuda-numbers.c", CUDA);
  }

  @Test
  @EnabledIf(value = "hipHere", disabledReason = "no gcc, or no HIP headers; apt-get install gcc libamdhip64-dev")
  void hipAgreesWithItsHeader() throws Exception {
    compile("hip-numbers.c", HIP);
  }

  private static void compile(String source, Path include) throws Exception {
    Process gcc =
        new ProcessBuilder(
            "gcc",
            "-std=c11",
            "-Wall",
            "-Werror",
            "-fsyntax-only",
            "-I" + include,
            Path.of("src", "test", "c", source).toString())
            .redirectErrorStream(true).start();
    String said = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(gcc.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(gcc.exitValue()).as(said).isZero();
  }
}
