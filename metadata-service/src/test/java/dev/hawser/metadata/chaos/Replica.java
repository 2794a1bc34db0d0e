/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.metadata.StoreConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A service in a process of its own, so that it can be killed. */
public final class Replica implements AutoCloseable {
  private final String store;
  private final Path log;
  private Process process;
  private URI uri;

  private Replica(String store, Path log, Process process, URI uri) {
    this.store = store;
    this.log = log;
    this.process = process;
    this.uri = uri;
  }

  /** The process: serves until it is killed. */
  public static void main(String[] arguments) throws InterruptedException {
    MetadataService service =
        MetadataService.start(
            MetadataConfig.builder()
                .store(StoreConfig.parse(arguments[0]))
                .port(Integer.parseInt(arguments[1]))
                .build());
    System.out.println(service.uri());
    Thread.currentThread().join();
  }

  /** Blocks until it listens. */
  public static Replica start(String store, Path log) {
    Process process = launch(store, 0, log);
    return new Replica(store, log, process, answer(process, log));
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

  /** SIGKILL, and again on the same port. */
  void killAndRestart() {
    close();
    process = launch(store, uri.getPort(), log);
    uri = answer(process, log);
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the replica does not end");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }

  private static Process launch(String store, int port, Path log) {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            Replica.class.getName(),
            store,
            Integer.toString(port));
    try {
      return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
    } catch (IOException failed) {
      throw new UncheckedIOException("the replica did not start", failed);
    }
  }

  private static URI answer(Process process, Path log) {
    try {
      BufferedReader out =
          new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      String line = out.readLine();
      if (line == null) {
        throw new IllegalStateException("the replica ended; its log is " + log);
      }
      return URI.create(line);
    } catch (IOException failed) {
      throw new UncheckedIOException("the replica said nothing", failed);
    }
  }
}
