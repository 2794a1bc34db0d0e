/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * A worker's process: a message a line on the standard input, a reply a line on the standard output. It ends with its
 * input, so it never outlives the router.
 */
final class WorkerMain {
  /** How a reply begins: whatever else a JVM prints is none. */
  static final String REPLY = "@";

  private WorkerMain() {}

  /** With the role as the only argument. */
  public static void main(String[] args) throws IOException {
    try (WorkerCommands<?> commands = "prefill".equals(args[0]) ? new PrefillCommands() : new DecodeCommands()) {
      serve(commands, new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)),
          new PrintStream(System.out, true, StandardCharsets.UTF_8));
    }
  }

  private static void serve(WorkerCommands<?> commands, BufferedReader in, PrintStream out) throws IOException {
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(REPLY + answer(commands, line).line());
    }
  }

  /** The router is the one who reports failures. */
  private static Message answer(WorkerCommands<?> commands, String line) {
    try {
      return commands.answer(Message.parse(line));
    } catch (RuntimeException e) {
      String message = e.getMessage();
      return Message.of(WorkerProcess.FAILED).with("message", message == null ? e.toString() : message);
    }
  }
}
