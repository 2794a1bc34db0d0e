/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Starts the suite's other processes on the host where it runs, for a suite on another one. Each connection begins with a
 * line: {@code start FIXTURE NAME} is answered with the process' number and then carries its standard input and output;
 * {@code signal PID NAME}, {@code state PID} and {@code end PID MILLIS} are answered with one line. For labs only: it does
 * what anybody asks.
 */
public final class PeerHost {
  private final Map<Long, LocalProcess> processes = new ConcurrentHashMap<>();

  private PeerHost() {}

  /** {@code host:port} to listen on. */
  public static void main(String[] arguments) throws IOException {
    int colon = arguments[0].lastIndexOf(':');
    InetAddress host = InetAddress.getByName(arguments[0].substring(0, colon));
    PeerHost here = new PeerHost();
    try (ServerSocket server = new ServerSocket(Integer.parseInt(arguments[0].substring(colon + 1)), 50, host)) {
      while (true) {
        Socket socket = server.accept();
        Thread.ofPlatform().daemon().start(() -> here.serve(socket));
      }
    }
  }

  private void serve(Socket socket) {
    try (socket;
        BufferedReader in = RemoteProcess.reader(socket);
        BufferedWriter out = RemoteProcess.writer(socket)) {
      String line = in.readLine();
      String[] words = line == null ? new String[] {""} : line.split(" ", -1);
      switch (words[0]) {
        case "start" -> start(List.of(words[1], words[2]), in, out, socket);
        case "signal" -> {
          process(words[1]).signal(words[2]);
          RemoteProcess.say(out, "done");
        }
        case "state" -> RemoteProcess.say(out, Character.toString(process(words[1]).state()));
        case "end" -> RemoteProcess.say(
            out, Integer.toString(process(words[1]).awaitEnd(Duration.ofMillis(Long.parseLong(words[2])))));
        default -> RemoteProcess.say(out, "what is '" + line + "'?");
      }
    } catch (IOException | RuntimeException e) {
      System.err.println("peer host: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private LocalProcess process(String pid) {
    LocalProcess process = processes.get(Long.valueOf(pid));
    if (process == null) {
      throw new IllegalArgumentException("process " + pid + " was not started here");
    }
    return process;
  }

  /** Ends when the process does; the process ends when the connection does. */
  private void start(List<String> what, BufferedReader in, BufferedWriter out, Socket socket) throws IOException {
    try (LocalProcess process = LocalProcess.start(what)) {
      processes.put(process.pid(), process);
      RemoteProcess.say(out, Long.toString(process.pid()));
      Thread.ofPlatform().daemon().start(() -> commands(process, in));
      BufferedReader answers = process.answers();
      for (String line = answers.readLine(); line != null; line = answers.readLine()) {
        RemoteProcess.say(out, line);
      }
    } finally {
      socket.close();
    }
  }

  private static void commands(LocalProcess process, BufferedReader in) {
    try (BufferedWriter to = process.commands()) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        RemoteProcess.say(to, line);
      }
    } catch (IOException | UncheckedIOException e) {
      System.err.println("peer host: " + process.description() + " takes no commands: " + e);
      process.close();
    }
  }
}
