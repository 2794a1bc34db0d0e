/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Compiles and runs C programs. */
final class Gcc {
  static final Path INCLUDE = Path.of("..", "include").toAbsolutePath().normalize();
  private static final long PATIENCE_SECONDS = 90;

  private Gcc() {}

  /** Skips the test, by name, where there is no C compiler. */
  static void assumePresent() {
    boolean present;
    try {
      present = run(List.of("gcc", "--version")).rc() == 0;
    } catch (UncheckedIOException e) {
      present = false;
    }
    assumeTrue(present, "needs gcc and libc6-dev: apt-get install gcc libc6-dev");
  }

  record Result(int rc, String output) {}

  static Path compile(Path source, Path folder) {
    Path program = folder.resolve("program");
    Path java = Path.of(System.getProperty("java.home"), "include");
    Result result = run(List.of("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I" + INCLUDE, "-I" + java,
        "-I" + java.resolve("linux"), source.toString(), "-o", program.toString(), "-ldl"));
    assertThat(result.rc()).as(result.output()).isZero();
    return program;
  }

  static Result run(List<String> command) {
    try {
      Path output = Files.createTempFile("hawser-c-", ".out");
      Process process = new ProcessBuilder(new ArrayList<>(command)).redirectErrorStream(true)
          .redirectOutput(output.toFile()).start();
      try {
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError(
              command + " did not end within " + PATIENCE_SECONDS + " s: " + Files.readString(output));
        }
        return new Result(process.exitValue(), Files.readString(output));
      } finally {
        process.destroyForcibly();
        Files.delete(output);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }
}
