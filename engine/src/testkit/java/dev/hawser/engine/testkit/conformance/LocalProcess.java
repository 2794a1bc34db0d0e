/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A child of this process. */
final class LocalProcess implements PeerProcess {
  private static final long KILL_SECONDS = 10;

  private final Process process;

  private LocalProcess(Process process) {
    this.process = process;
  }

  /**
   * Starts an {@link OtherProcess} with this process' class path and properties of the suite.
   *
   * @param arguments the fixture's class, and a name
   */
  static LocalProcess start(List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx256m",
            "-cp",
            System.getProperty("java.class.path")));
    for (String name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith(SuiteProperties.PREFIX)) {
        command.add(1, "-D" + name + "=" + System.getProperty(name));
      }
    }
    command.add(OtherProcess.class.getName());
    command.addAll(arguments);
    return new LocalProcess(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  long pid() {
    return process.pid();
  }

  Process process() {
    return process;
  }

  @Override
  public BufferedWriter commands() {
    return process.outputWriter();
  }

  @Override
  public BufferedReader answers() {
    return process.inputReader();
  }

  @Override
  public void signal(String name) throws IOException {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
    try {
      if (!kill.waitFor(KILL_SECONDS, TimeUnit.SECONDS) || kill.exitValue() != 0) {
        throw new IOException("kill -" + name + " " + process.pid() + " does not go");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  @Override
  public char state() throws IOException {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2);
    } catch (NoSuchFileException gone) {
      return 'X';
    }
  }

  @Override
  public int awaitEnd(Duration within) throws InterruptedException {
    return process.waitFor(within.toMillis(), TimeUnit.MILLISECONDS) ? process.exitValue() : -1;
  }

  @Override
  public String description() {
    return "process " + process.pid();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
