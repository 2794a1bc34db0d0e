/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * pytest, in a virtual environment of its own, on the JDK that runs this. Options for pytest can be given as
 * {@code -Dpytest.args="--stress 50 -k faulthandler"}.
 */
class PytestIT {
  private static final Path TARGET = Path.of("target").toAbsolutePath();
  private static final Path VENV = TARGET.resolve("venv");

  @Test
  @Timeout(value = 25, unit = TimeUnit.MINUTES)
  void passes() throws Exception {
    assumeTrue(run(TARGET.resolve("python.log"), List.of("python3", "-c",
        "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))"), 60) == 0,
        "needs Python 3.9 or newer with venv: apt-get install python3 python3-venv");
    installTools();
    Path log = TARGET.resolve("pytest.log");
    List<String> command = new ArrayList<>(List.of(VENV.resolve("bin/python").toString(), "-m", "pytest", "-v",
        "-p", "no:cacheprovider", "--junitxml=" + TARGET.resolve("pytest.xml")));
    String more = System.getProperty("pytest.args", "");
    command.addAll(more.isBlank() ? List.of() : List.of(more.strip().split("\\s+")));

    int rc;
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      rc = run(log, command, 24 * 60, "HAWSER_PYTHON_METADATA", "http://127.0.0.1:" + service.port(),
          "HAWSER_PYTHON_COMMAND_LINE", commandLine("dev.hawser.perf.Hawser"),
          "HAWSER_PYTHON_FAKE_GPUS", commandLine(FakeGpuAgent.class.getName()));
    }

    String output = Files.readString(log);
    System.out
        .println(output.lines().skip(Math.max(0, output.lines().count() - 25)).reduce("", (a, b) -> a + b + '\n'));
    assertThat(rc).as("pytest ended with this; all of it is in " + log + ":\n" + output).isZero();
  }

  /** What {@code ./hawser} runs, or another class, as the words of a shell: not that script itself, which would build. */
  private static String commandLine(String main) {
    return Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), main)
        .map(word -> "'" + word + "'").collect(Collectors.joining(" "));
  }

  /** pip's usual client, with whatever index the machine is configured for. */
  private static void installTools() throws IOException, InterruptedException {
    Path log = TARGET.resolve("pip.log");
    if (!Files.exists(VENV.resolve("ready"))) {
      assertThat(run(log, List.of("python3", "-m", "venv", "--clear", VENV.toString()), 300))
          .as("making " + VENV + "; see " + log).isZero();
      int rc = run(log, List.of(VENV.resolve("bin/python").toString(), "-m", "pip", "install", "--quiet",
          "--disable-pip-version-check", "pytest>=7", "numpy", "setuptools>=64", "wheel"), 600);
      assumeTrue(rc == 0, "needs pytest, numpy, setuptools and wheel, which pip could not install (see " + log
          + "): configure pip for an index that has them");
      Files.createFile(VENV.resolve("ready"));
    }
  }

  private static int run(Path log, List<String> command, int seconds, String... variable)
      throws IOException, InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("HAWSER_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("HAWSER_PYTHON_JARS", TARGET.resolve("jars").toString());
    for (int i = 0; i < variable.length; i += 2) {
      builder.environment().put(variable[i], variable[i + 1]);
    }
    builder.environment().put("PYTHONPATH", Path.of("src").toAbsolutePath().toString());
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
      throw new AssertionError(String.join(" ", command) + " did not end within " + seconds + " s; see " + log);
    }
    return process.exitValue();
  }
}
