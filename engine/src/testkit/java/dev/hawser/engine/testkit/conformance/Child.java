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
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** This process' hold on an {@link OtherProcess}. */
final class Child implements AutoCloseable {
  private static final AtomicInteger NUMBER = new AtomicInteger();
  private static final Duration START = SuiteProperties.times(30);

  private final PeerProcess process;
  private final BufferedWriter commands;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final Thread reader;
  private final Card card;

  private Child(PeerProcess process) {
    this.process = process;
    this.commands = process.commands();
    this.reader = Thread.ofPlatform().name("answers of " + process.description()).daemon().start(this::read);
    this.card = Card.decode(answer(START));
  }

  static Child start(Fixture fixture) {
    String name = "child-" + ProcessHandle.current().pid() + "-" + NUMBER.incrementAndGet();
    List<String> arguments = List.of(fixture.getClass().getName(), name);
    String host = SuiteProperties.peerHost();
    try {
      return new Child(host.isEmpty() ? LocalProcess.start(arguments) : RemoteProcess.start(host, arguments));
    } catch (IOException e) {
      throw new UncheckedIOException("the second process does not start", e);
    }
  }

  private void read() {
    try (BufferedReader lines = process.answers()) {
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
        throw new AssertionError(process.description() + " does not answer within " + within);
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
      throw new UncheckedIOException(process.description() + " takes no commands", e);
    }
  }

  String expect(String good) {
    String answer = answer(Waits.PATIENCE.plus(Waits.MARGIN));
    assertThat(answer).as("answer of %s", name()).startsWith(good);
    return answer;
  }

  void kill() {
    signal("KILL");
    awaitEnd();
  }

  void stop() {
    signal("STOP");
    Waits.until(process.description() + " is stopped", this::isStopped);
  }

  /** Proves that the fault happened. */
  void assertStopped() {
    assertThat(isStopped()).as("%s is stopped", process.description()).isTrue();
  }

  void goOn() {
    assertStopped();
    signal("CONT");
  }

  private boolean isStopped() {
    try {
      return process.state() == 'T';
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void signal(String name) {
    try {
      process.signal(name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The exit code. */
  private int awaitEnd() {
    try {
      int code = process.awaitEnd(Waits.PATIENCE);
      assertThat(code).as("exit code of %s; −1 if it still runs", process.description()).isNotEqualTo(-1);
      reader.join(Waits.PATIENCE.toMillis());
      return code;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
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
    assertThat(awaitEnd()).as("exit code of %s", name()).isZero();
  }

  @Override
  public void close() {
    try {
      process.close();
      awaitEnd();
      commands.close();
    } catch (IOException brokenPipe) {
      // What was left in the buffer has no reader any more.
      assertThat(isRunning()).as("%s still runs: %s", process.description(), brokenPipe).isFalse();
    }
  }

  private boolean isRunning() {
    try {
      return process.awaitEnd(Duration.ZERO) < 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }
}
