/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.testkit.TruncatedFile;
import dev.hawser.memory.ffi.PageMappings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whether the JVM's report of a SIGBUS comes where it is caught, in code of every kind. */
class PendingFaultTest {
  private static final int BYTES = 1 << 20;
  private static final long[] LENGTHS = {1, 8, 13, 64, 100, 4096, 70_000};

  /** Memory behind a file of which nothing is left, and memory that is there. */
  private static final class Pages implements AutoCloseable {
    private final TruncatedFile file = new TruncatedFile(BYTES);
    private final long gone = file.address();
    private final long there =
        PageMappings.map(
            BYTES,
            PageMappings.PROT_READ | PageMappings.PROT_WRITE,
            PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS,
            -1,
            0);

    Pages() {
      file.cut(0);
    }

    /** Copies of each length, good ones and others in turns; an error that comes too late ends the test. */
    private void copy(int rounds) {
      for (int round = 0; round < rounds; round++) {
        for (long length : LENGTHS) {
          long offset = (long) round % 64 * 4096 + round % 7;
          check(RawMemory.tryCopy(gone + offset, there + offset, length), false, round, length);
          check(RawMemory.tryCopy(there + offset, there + BYTES / 2 + offset, length), true, round, length);
          check(RawMemory.tryCopy(there + offset, gone + offset, length), false, round, length);
        }
      }
    }

    private static void check(boolean copied, boolean expected, int round, long length) {
      if (copied != expected) {
        throw new AssertionError("round " + round + ", " + length + " bytes: " + copied);
      }
    }

    @Override
    public void close() {
      PageMappings.unmap(there, BYTES);
      file.close();
    }
  }

  /** For the processes below. */
  public static void main(String[] rounds) {
    try (Pages pages = new Pages()) {
      pages.copy(Integer.parseInt(rounds[0]));
    }
  }

  /** Long enough for both compilers to have had it, with all that they inline. */
  @Test
  void whatMeetsMissingMemoryIsToldAtOnceEachTime() {
    try (Pages pages = new Pages()) {
      pages.copy(20_000);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
          "-Xint",
          "-XX:TieredStopAtLevel=1",
          "-Xcomp -XX:-TieredCompilation -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,dev.hawser.*::*"
              + " -XX:CompileCommand=compileonly,jdk.internal.*::*"
      })
  void inCodeOfEveryKind(String options) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(options.split(" ")));
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            PendingFaultTest.class.getName(),
            "300"));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(process.exitValue()).as(said).isZero();
  }
}
