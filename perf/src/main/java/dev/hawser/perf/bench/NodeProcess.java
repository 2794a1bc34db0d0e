/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A target in a process of its own on this host: the same Java, class path and options as this one. It ends with this
 * process, whatever happens to it: it lives as long as its standard input is open.
 */
public final class NodeProcess implements AutoCloseable {
  /** What a target prints once it can be found. */
  public static final String READY = "hawser bench: ready as ";
  private static final Duration START = Duration.ofSeconds(60);
  private static final Duration STOP = Duration.ofSeconds(20);

  private final String name;
  private final Process process;

  private NodeProcess(String name, Process process) {
    this.name = name;
    this.process = process;
  }

  /**
   * Starts a target and waits until it can be found.
   *
   * @param mainClass the command line's
   * @param arguments of the command line, which must make it print {@link #READY} and end with its standard input
   * @throws BenchException if it does not get ready
   */
  public static NodeProcess start(String name, String mainClass, List<String> arguments) {
    NodeProcess node = launch(name, mainClass, arguments);
    boolean ready = false;
    try {
      node.awaitReady();
      ready = true;
      return node;
    } finally {
      if (!ready) {
        node.close();
      }
    }
  }

  /** As {@link #start}, but returns at once: {@link #awaitReady} is to follow. */
  public static NodeProcess launch(String name, String mainClass, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (option.startsWith("-XX:") || option.startsWith("-Xshare") || option.startsWith("-Xlog:cds")
          || option.startsWith("-Xlog:aot") || option.startsWith("--enable-native-access")
          || option.startsWith("--illegal-native-access") || option.startsWith("-Dhawser.")
          || option.startsWith("-Djava.util.logging.")) {
        command.add(option);
      }
    }
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(mainClass);
    command.addAll(arguments);
    Process process;
    try {
      process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new BenchException("cannot start a target process: " + e.getMessage(), e);
    }
    return new NodeProcess(name, process);
  }

  /**
   * Waits until it can be found.
   *
   * @throws BenchException if that does not come to pass
   */
  public void awaitReady() {
    CompletableFuture<Boolean> ready = CompletableFuture.supplyAsync(this::readUntilReady, Thread::startVirtualThread);
    try {
      if (!ready.get(START.toMillis(), TimeUnit.MILLISECONDS)) {
        int code = process.waitFor(STOP.toMillis(), TimeUnit.MILLISECONDS) ? process.exitValue() : -1;
        throw new BenchException("the target process '" + name + "' ended with exit code " + code
            + " before it was ready; its own message is above");
      }
    } catch (TimeoutException e) {
      throw new BenchException(
          "the target process '" + name + "' was not ready within " + START.toSeconds() + " s", e);
    } catch (ExecutionException e) {
      throw new BenchException("the target process '" + name + "' cannot be read: " + e.getCause(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted while the target process started", e);
    }
  }

  /** False if the output ends before. */
  private boolean readUntilReady() {
    try {
      BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (line.startsWith(READY)) {
          return true;
        }
      }
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Its process id. */
  public long pid() {
    return process.pid();
  }

  /** Ends it: kindly, by closing its standard input, then by force. */
  @Override
  public void close() {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // It is gone already, which is what is wanted.
      process.destroy();
    }
    try {
      if (!process.waitFor(STOP.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly().waitFor(STOP.toMillis(), TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
