/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.time.Duration;

/** Where an {@link OtherProcess} runs, and what can be done to it from outside. */
interface PeerProcess extends AutoCloseable {

  /** Where standard input is written to; closing it ends the process. */
  BufferedWriter commands();

  /** What it says on standard output. */
  BufferedReader answers();

  /** Sends a signal, by its name without SIG. */
  void signal(String name) throws IOException;

  /** The letter of its state, as in /proc: T is stopped. */
  char state() throws IOException;

  /** Waits for its end; the exit code, or −1 if it still runs after that time. */
  int awaitEnd(Duration within) throws IOException, InterruptedException;

  /** For messages. */
  String description();

  /** Kills it, if it still runs. */
  @Override
  void close() throws IOException;
}
