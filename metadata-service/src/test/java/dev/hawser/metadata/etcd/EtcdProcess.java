/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Members of an etcd on loopback, from Debian's package, in a folder that the test gives. */
public final class EtcdProcess implements AutoCloseable {
  public static final String HOW_TO_ENABLE = "no etcd on the path: apt-get install etcd-server enables this test";

  private final List<Member> members = new ArrayList<>();

  private static final class Member {
    private final List<String> command;
    private final Path log;
    private final URI client;
    private Process process;

    Member(List<String> command, Path log, URI client, Process process) {
      this.command = command;
      this.log = log;
      this.client = client;
      this.process = process;
    }
  }

  private EtcdProcess() {}

  /** Where it is, if it is. */
  public static Optional<Path> binary() {
    for (String entry : System.getenv("PATH").split(":", -1)) {
      Path candidate = Path.of(entry, "etcd");
      if (Files.isExecutable(candidate)) {
        return Optional.of(candidate);
      }
    }
    return Optional.empty();
  }

  /** Starts so many members; they answer once a majority has found itself. */
  public static EtcdProcess start(Path folder, int count) throws IOException {
    Files.createDirectories(folder);
    EtcdProcess etcd = new EtcdProcess();
    Path binary = binary().orElseThrow();
    int[] ports = freePorts(2 * count);
    List<String> cluster = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      cluster.add("m" + i + "=http://127.0.0.1:" + ports[2 * i + 1]);
    }
    for (int i = 0; i < count; i++) {
      String client = "http://127.0.0.1:" + ports[2 * i];
      String peer = "http://127.0.0.1:" + ports[2 * i + 1];
      List<String> command =
          List.of(
              binary.toString(),
              "--name=m" + i,
              "--data-dir=" + folder.resolve("m" + i),
              "--listen-client-urls=" + client,
              "--advertise-client-urls=" + client,
              "--listen-peer-urls=" + peer,
              "--initial-advertise-peer-urls=" + peer,
              "--initial-cluster=" + String.join(",", cluster),
              // Data that outlives the test is of no use; the tests wait less.
              "--heartbeat-interval=50",
              "--election-timeout=500");
      Path log = folder.resolve("m" + i + ".log");
      etcd.members.add(new Member(command, log, URI.create(client), launch(command, log)));
    }
    return etcd;
  }

  /** For clients. */
  public List<URI> endpoints() {
    return members.stream().map(member -> member.client).toList();
  }

  /** Members. */
  public int size() {
    return members.size();
  }

  /** Forgets what was before a revision, as etcd does by itself in time. */
  public void compact(long revision) throws IOException, InterruptedException {
    String body = "{\"revision\":\"" + revision + "\",\"physical\":true}";
    try (HttpClient http = HttpClient.newHttpClient()) {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(endpoints().getFirst().resolve("/v3/kv/compaction"))
                  .timeout(Duration.ofSeconds(20))
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() != 200) {
        throw new IOException("etcd does not compact: " + answer.body());
      }
    }
  }

  /** SIGKILL. */
  public void kill(int index) {
    Process process = members.get(index).process;
    process.destroyForcibly();
    await(process);
  }

  /** With the data that it had. */
  public void restart(int index) {
    Member member = members.get(index);
    member.process = launch(member.command, member.log);
  }

  @Override
  public void close() {
    for (Member member : members) {
      member.process.destroyForcibly();
      await(member.process);
    }
  }

  private static Process launch(List<String> command, Path log) {
    try {
      return new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
          .start();
    } catch (IOException failed) {
      throw new UncheckedIOException("etcd did not start", failed);
    }
  }

  private static void await(Process process) {
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        throw new IllegalStateException("etcd does not end");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }

  /** All held at once, so that none is given twice. */
  private static int[] freePorts(int count) throws IOException {
    List<ServerSocket> held = new ArrayList<>();
    try {
      int[] ports = new int[count];
      for (int i = 0; i < count; i++) {
        ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        held.add(socket);
        ports[i] = socket.getLocalPort();
      }
      return ports;
    } finally {
      for (ServerSocket socket : held) {
        socket.close();
      }
    }
  }
}
