/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Finds and runs programs. */
final class Programs {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int SLOWER = 4;

  private Programs() {}

  /** Long enough for whoever measures for this time, also where much else is done; whoever takes longer hangs. */
  static Duration patience(Duration time) {
    return PATIENCE.plus(time.multipliedBy(SLOWER));
  }

  /** The program of this name in a folder of {@code PATH}. */
  static Optional<Path> find(String name) {
    String path = System.getenv().getOrDefault("PATH", "");
    for (String folder : path.split(File.pathSeparator, -1)) {
      Path program = Path.of(folder.isEmpty() ? "." : folder, name);
      if (Files.isExecutable(program) && !Files.isDirectory(program)) {
        return Optional.of(program);
      }
    }
    return Optional.empty();
  }

  /** A port that was free a moment ago. */
  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new PeerException("no port is free on loopback: " + e.getMessage(), e);
    }
  }

  /** A program that was started. */
  static final class Running implements AutoCloseable {
    private final String name;
    private final Process process;
    private final CompletableFuture<String> out;
    private final CompletableFuture<String> err;

    private Running(String name, Process process) {
      this.name = name;
      this.process = process;
      this.out = read(process.getInputStream());
      this.err = read(process.getErrorStream());
    }

    private static CompletableFuture<String> read(InputStream stream) {
      return CompletableFuture.supplyAsync(() -> {
        try (stream) {
          return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
          return "(" + e.getMessage() + ")"; // It was ended by us: nobody reads this.
        }
      }, Thread::startVirtualThread);
    }

    boolean isAlive() {
      return process.isAlive();
    }

    /** Its standard output, once it has ended well. */
    String output(Duration deadline) {
      try {
        if (!process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
          throw new PeerHangsException(
              name + " has not ended after " + deadline.toSeconds() + " s; it was killed, run it by hand to see why");
        }
        String text = out.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
        if (process.exitValue() != 0) {
          String words = err.get(deadline.toMillis(), TimeUnit.MILLISECONDS).strip();
          throw new PeerException(name + " ended with " + process.exitValue() + ": "
              + (words.isEmpty() ? text.strip() : words).lines().reduce((_, last) -> last).orElse("it said nothing"));
        }
        return text;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new PeerException("interrupted while " + name + " ran", e);
      } catch (ExecutionException | TimeoutException e) {
        throw new PeerException("cannot read what " + name + " prints", e);
      }
    }

    @Override
    public void close() {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  static Running start(Map<String, String> environment, List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    String name = Path.of(command.getFirst()).getFileName().toString();
    try {
      Process process = builder.start();
      process.getOutputStream().close();
      return new Running(name, process);
    } catch (IOException e) {
      throw new PeerException("cannot start " + name + ": " + e.getMessage(), e);
    }
  }

  /** Runs a program to its end. */
  static String run(List<String> command, Duration deadline) {
    try (Running running = start(Map.of(), command)) {
      return running.output(deadline);
    }
  }
}
