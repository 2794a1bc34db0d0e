/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** This process' hold on an {@link OtherProcess}. */
final class Child implements AutoCloseable {
  private static final AtomicInteger NUMBER = new AtomicInteger();
  private static final Duration START = Duration.ofSeconds(30);

  private final Process process;
  private final BufferedWriter commands;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final Thread reader;
  private final Card card;

  private Child(Process process) {
    this.process = process;
    this.commands = process.outputWriter();
    this.reader = Thread.ofPlatform().name("answers of " + process.pid()).daemon().start(this::read);
    this.card = Card.decode(answer(START));
  }

  static Child start(Fixture fixture) {
    String name = "child-" + ProcessHandle.current().pid() + "-" + NUMBER.incrementAndGet();
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx256m",
            "-cp",
            System.getProperty("java.class.path"),
            OtherProcess.class.getName(),
            fixture.getClass().getName(),
            name);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    try {
      return new Child(builder.start());
    } catch (IOException e) {
      throw new UncheckedIOException("the second process does not start", e);
    }
  }

  private void read() {
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        answers.add(line);
      }
    } catch (IOException e) {
      answers.add("failed: " + e);
    }
    answers.add("failed: the process has ended");
  }

  private String answer(Duration within) {
    try {
      String answer = answers.poll(within.toMillis(), TimeUnit.MILLISECONDS);
      if (answer == null) {
        throw new AssertionError("process " + process.pid() + " does not answer within " + within);
      }
      return answer;
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  Card card() {
    return card;
  }

  String name() {
    return card.peer().name();
  }

  /** Gives a command, and waits for the answer, which begins with {@code good}. */
  String tell(String command, String good) {
    send(command);
    return expect(good);
  }

  void send(String command) {
    try {
      commands.write(command);
      commands.newLine();
      commands.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("process " + process.pid() + " takes no commands", e);
    }
  }

  String expect(String good) {
    String answer = answer(Waits.PATIENCE.plus(Waits.MARGIN));
    assertThat(answer).as("answer of %s", name()).startsWith(good);
    return answer;
  }

  void kill() {
    process.destroyForcibly(); // SIGKILL
    awaitEnd();
  }

  void stop() {
    signal("STOP");
    Waits.until("process " + process.pid() + " is stopped", this::isStopped);
  }

  /** Proves that the fault happened. */
  void assertStopped() {
    assertThat(isStopped()).as("process %s is stopped", process.pid()).isTrue();
  }

  void goOn() {
    assertStopped();
    signal("CONT");
  }

  private boolean isStopped() {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void signal(String name) {
    try {
      Process kill =
          new ProcessBuilder("sh", "-c", String.format(Locale.ROOT, "kill -%s %d", name, process.pid()))
              .inheritIO()
              .start();
      assertThat(kill.waitFor(Waits.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
      assertThat(kill.exitValue()).as("kill -%s %s", name, process.pid()).isZero();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  private void awaitEnd() {
    try {
      assertThat(process.waitFor(Waits.PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
      reader.join(Waits.PATIENCE.toMillis());
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  /** Lets it end by itself, which must go well, and does not leave it behind if it does not. */
  void end() {
    try {
      commands.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    awaitEnd();
    assertThat(process.exitValue()).as("exit code of %s", name()).isZero();
  }

  @Override
  public void close() {
    if (process.isAlive()) {
      kill();
    }
    try {
      commands.close();
    } catch (IOException brokenPipe) {
      // What was left in the buffer has no reader any more.
      assertThat(process.isAlive()).isFalse();
    }
  }
}
