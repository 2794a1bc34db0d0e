/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/** A process that a {@link PeerHost} started for us. */
final class RemoteProcess implements PeerProcess {
  private static final int CONNECT_MILLIS = 10_000;
  private static final int ANSWER_MILLIS = 30_000;

  private final String host;
  private final Socket socket;
  private final BufferedReader answers;
  private final BufferedWriter commands;
  private final String pid;

  private RemoteProcess(String host, Socket socket, List<String> what) throws IOException {
    this.host = host;
    this.socket = socket;
    this.answers = reader(socket);
    this.commands = writer(socket);
    say(commands, "start " + String.join(" ", what));
    String first = answers.readLine();
    if (first == null || !first.matches("[0-9]+")) {
      throw new IOException("the peer host " + host + " starts nothing: " + first);
    }
    this.pid = first;
  }

  static RemoteProcess start(String host, List<String> what) throws IOException {
    Socket socket = connect(host);
    try {
      return new RemoteProcess(host, socket, what);
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  private static Socket connect(String host) throws IOException {
    int colon = host.lastIndexOf(':');
    Socket socket = new Socket();
    try {
      socket.connect(
          new InetSocketAddress(host.substring(0, colon), Integer.parseInt(host.substring(colon + 1))),
          CONNECT_MILLIS);
      socket.setTcpNoDelay(true);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw new IOException("the peer host " + host + " does not answer", e);
    }
  }

  static BufferedReader reader(Socket socket) throws IOException {
    return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }

  static BufferedWriter writer(Socket socket) throws IOException {
    return new BufferedWriter(new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8));
  }

  static void say(BufferedWriter to, String line) throws IOException {
    to.write(line);
    to.newLine();
    to.flush();
  }

  private String ask(String question, long millis) throws IOException {
    try (Socket asking = connect(host);
        BufferedReader in = reader(asking);
        BufferedWriter out = writer(asking)) {
      asking.setSoTimeout((int) millis);
      say(out, question);
      String answer = in.readLine();
      if (answer == null) {
        throw new IOException("the peer host " + host + " does not answer '" + question + "'");
      }
      return answer;
    }
  }

  /** Only the way there is closed: what it still says is heard. */
  @Override
  public BufferedWriter commands() {
    return new BufferedWriter(commands) {
      @Override
      public void close() throws IOException {
        flush();
        if (!socket.isClosed() && !socket.isOutputShutdown()) {
          socket.shutdownOutput();
        }
      }
    };
  }

  @Override
  public BufferedReader answers() {
    return answers;
  }

  @Override
  public void signal(String name) throws IOException {
    ask("signal " + pid + " " + name, ANSWER_MILLIS);
  }

  @Override
  public char state() throws IOException {
    return ask("state " + pid, ANSWER_MILLIS).charAt(0);
  }

  @Override
  public int awaitEnd(Duration within) throws IOException {
    return Integer.parseInt(ask("end " + pid + " " + within.toMillis(), within.toMillis() + ANSWER_MILLIS));
  }

  @Override
  public String description() {
    return "process " + pid + " at " + host;
  }

  @Override
  public void close() throws IOException {
    if (awaitEnd(Duration.ZERO) < 0) {
      signal("KILL");
    }
    socket.close();
  }
}
