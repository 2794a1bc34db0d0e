/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A server in a process of its own, whose main class prints where it listens as its first line. */
public final class ServerJvm implements AutoCloseable {
  private final Process process;
  private final URI uri;

  private ServerJvm(Process process, URI uri) {
    this.process = process;
    this.uri = uri;
  }

  /** Blocks until it listens; what it complains of is appended to the log. */
  public static ServerJvm start(Class<?> main, List<String> arguments, Path log) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
    command.addAll(arguments);
    try {
      Process process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
      return new ServerJvm(process, address(process, main, log));
    } catch (IOException failed) {
      throw new UncheckedIOException(main.getSimpleName() + " did not start", failed);
    }
  }

  private static URI address(Process process, Class<?> main, Path log) throws IOException {
    BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String line = out.readLine();
    if (line == null) {
      throw new IllegalStateException(main.getSimpleName() + " ended; its log is " + log);
    }
    return URI.create(line);
  }

  /** Where it listens. */
  public URI uri() {
    return uri;
  }

  /** What it has used of the processors. */
  public Duration cpu() {
    return process.info().totalCpuDuration().orElseThrow();
  }

  long pid() {
    return process.pid();
  }

  /** SIGKILL. */
  @Override
  public void close() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        throw new IllegalStateException("process " + process.pid() + " does not end");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }
}
