/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A worker as the router sees it: a process of its own, with the same Java and class path. Used by one thread. */
final class WorkerProcess implements AutoCloseable {
  /** The verb of a reply that tells of a failure. */
  static final String FAILED = "failed";

  /** Longer than any deadline in the worker, whose own message is the better one. */
  private static final Duration REPLY = Worker.DEADLINE.plusSeconds(30);

  private static final String LOGGING = "java.util.logging.config.file";
  private static final Duration STOP = Duration.ofSeconds(20);

  private final String name;
  private final Process process;
  private final Writer in;
  private final BlockingQueue<Message> replies = new LinkedBlockingQueue<>();

  private WorkerProcess(String name, Process process) {
    this.name = name;
    this.process = process;
    this.in = process.outputWriter(StandardCharsets.UTF_8);
  }

  /**
   * Starts a worker's process, and does not wait for it. What it prints besides replies goes to our standard error.
   *
   * @param name its role
   */
  static WorkerProcess launch(String name) {
    try {
      WorkerProcess worker =
          new WorkerProcess(name, new ProcessBuilder(command(name)).redirectError(Redirect.INHERIT).start());
      Thread.ofVirtual().name(name + "-replies").start(worker::readReplies);
      return worker;
    } catch (IOException e) {
      throw new DemonstrationException("the " + name + " process cannot be started: " + e.getMessage(), e);
    }
  }

  private static List<String> command(String name) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-XX:+UseSerialGC");
    String logging = System.getProperty(LOGGING);
    if (logging != null) {
      command.add("-D" + LOGGING + "=" + logging);
    }
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(WorkerMain.class.getName());
    command.add(name);
    return command;
  }

  private void readReplies() {
    String end = "its process has ended";
    try (BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        if (line.startsWith(WorkerMain.REPLY)) {
          replies.add(Message.parse(line.substring(WorkerMain.REPLY.length())));
        } else {
          System.err.println(line);
        }
      }
    } catch (IOException | DemonstrationException e) {
      end = "its output cannot be read: " + e.getMessage();
    }
    replies.add(Message.of(FAILED).with("message", end));
  }

  /** Its role. */
  String name() {
    return name;
  }

  /** Its process id. */
  long pid() {
    return process.pid();
  }

  /** Sends a message and waits for the reply, which has to be of this verb. */
  Message ask(Message message, String verb) {
    send(message);
    Message reply = receive();
    if (!reply.verb().equals(verb)) {
      throw new DemonstrationException(
          "the " + name + " worker answered '" + reply.line() + "' where '" + verb + "' was expected");
    }
    return reply;
  }

  /** Sends a message; its reply is to be received. */
  void send(Message message) {
    try {
      in.write(message.line());
      in.write('\n');
      in.flush();
    } catch (IOException e) {
      throw new DemonstrationException("the " + name + " process cannot be told to '" + message.verb()
          + "': " + e.getMessage(), e);
    }
  }

  /**
   * The next reply.
   *
   * @throws DemonstrationException if it tells of a failure, or does not come
   */
  Message receive() {
    Message reply;
    try {
      reply = replies.poll(REPLY.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DemonstrationException("interrupted while the " + name + " worker was at work", e);
    }
    if (reply == null) {
      throw new DemonstrationException("the " + name + " worker gave no answer within " + REPLY.toSeconds() + " s");
    }
    if (reply.verb().equals(FAILED)) {
      throw new DemonstrationException("the " + name + " worker failed: " + reply.text("message"));
    }
    return reply;
  }

  /** Ends it: kindly, by the end of its input, then by force. */
  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      // It is gone already, or nearly.
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
