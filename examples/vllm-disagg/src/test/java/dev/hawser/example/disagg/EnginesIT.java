/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The Python half: its tests, and the check of two engines against one in its short form; {@code -Dcheck.args=} (empty)
 * runs all of its cases.
 */
class EnginesIT {
  private static final Path TARGET = Path.of("target").toAbsolutePath();
  private static final Path PYTHON = Path.of("python").toAbsolutePath();
  private static final Path HAWSER = Path.of("..", "..", "python", "src").toAbsolutePath().normalize();
  private static final Path INTERPRETER = TARGET.resolve("venv/bin/python");

  @BeforeAll
  static void install() throws Exception {
    assumeTrue(Files.isDirectory(HAWSER.resolve("hawser")), "needs the Python package of Hawser in " + HAWSER);
    assumeTrue(
        run("python.log", 60, "python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))") == 0,
        "needs Python 3.9 or newer with venv: apt-get install python3 python3-venv");
    if (run("python.log", 60, INTERPRETER.toString(), "-c", "import numpy, pytest") != 0) {
      assertThat(run("venv.log", 300, "python3", "-m", "venv", "--clear", TARGET.resolve("venv").toString()))
          .as("making a virtual environment; see " + TARGET.resolve("venv.log")).isZero();
      assumeTrue(run("pip.log", 600, INTERPRETER.toString(), "-m", "pip", "install", "--quiet",
          "--disable-pip-version-check", "numpy", "pytest>=7") == 0,
          "needs numpy and pytest, which pip could not install (see " + TARGET.resolve("pip.log")
              + "): configure pip for an index that has them");
    }
  }

  @Test
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void pytestPasses() throws Exception {
    int code = run("pytest.log", 9 * 60, INTERPRETER.toString(), "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "--rootdir", PYTHON.toString(), PYTHON.resolve("tests").toString());

    assertThat(code).as(Files.readString(TARGET.resolve("pytest.log"))).isZero();
  }

  @Test
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  void twoEnginesComputeWhatOneComputes() throws Exception {
    String more = System.getProperty("check.args", "--short");
    List<String> command = new ArrayList<>(
        List.of(INTERPRETER.toString(), "-m", "hawser_disagg.check", "--log",
            TARGET.resolve("engines.log").toString()));
    command.addAll(more.isBlank() ? List.of() : List.of(more.strip().split("\\s+")));

    int code = run("check.log", 14 * 60, command.toArray(String[]::new));

    String verdict = Files.readString(TARGET.resolve("check.log"));
    System.out.println(verdict);
    assertThat(code).as(verdict).isZero();
    assertThat(verdict).contains("ok    control: ").doesNotContain("FAIL");
  }

  private static int run(String log, int seconds, String... command) throws IOException, InterruptedException {
    File output = TARGET.resolve(log).toFile();
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output);
    builder.environment().put("HAWSER_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("HAWSER_PYTHON_JARS", TARGET.resolve("lib").toString());
    builder.environment().put("PYTHONPATH", PYTHON + File.pathSeparator + HAWSER);
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      return -1; // there is no such program
    }
    process.getOutputStream().close();
    if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      throw new AssertionError(String.join(" ", command) + " did not end within " + seconds + " s; see " + output);
    }
    return process.exitValue();
  }
}
