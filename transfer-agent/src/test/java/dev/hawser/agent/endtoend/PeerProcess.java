/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import dev.hawser.agent.Agent;
import dev.hawser.agent.AwaitTimeoutException;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.Notification;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Region;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** An agent in a process of its own: the target of tests that kill, stop and restart it. */
final class PeerProcess implements AutoCloseable {
  static final long POOL = 64 << 20;

  private static final long LONGEST_SECONDS = 120;
  private static final ScheduledExecutorService DEADLINES =
      Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("peer-deadlines").factory());

  private final Process process;
  private final BufferedReader output;

  private PeerProcess(Process process) {
    this.process = process;
    this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Starts one, and returns when it is published. */
  static PeerProcess start(String name, String transport, String metadataUrl, int fill) throws IOException {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp",
        System.getProperty("java.class.path"), PeerProcess.class.getName(), name, transport, metadataUrl,
        Integer.toString(fill)));
    PeerProcess peer =
        new PeerProcess(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    peer.expect("ready");
    return peer;
  }

  /** Reads the next line, which has to be this; a process that says nothing for long is killed. */
  void expect(String line) throws IOException {
    String read;
    ScheduledFuture<?> last = DEADLINES.schedule(process::destroyForcibly, LONGEST_SECONDS, TimeUnit.SECONDS);
    try {
      read = output.readLine();
    } finally {
      last.cancel(false);
    }
    if (!line.equals(read)) {
      process.destroyForcibly();
      throw new IOException("the peer process said '" + read + "' instead of '" + line + "'");
    }
  }

  /** Kills it as the kernel would: nothing of it runs any more. */
  void kill() {
    process.destroyForcibly();
    boolean gone = false;
    try {
      gone = process.waitFor(20, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (!gone) {
      throw new IllegalStateException("the peer process survived its kill");
    }
  }

  /** Stops it, and returns when none of its threads runs any more. */
  void stop() throws IOException, InterruptedException {
    signal("STOP");
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!isStopped()) {
      if (System.nanoTime() - deadline > 0) {
        throw new IOException("the peer process does not stop");
      }
      Thread.onSpinWait();
    }
  }

  /** Lets it go on. */
  void goOn() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
    if (!kill.waitFor(20, TimeUnit.SECONDS) || kill.exitValue() != 0) {
      throw new IOException("kill -" + name + " failed");
    }
  }

  /** Whether every thread is in state T; see proc(5). */
  private boolean isStopped() throws IOException {
    try (DirectoryStream<Path> threads =
        Files.newDirectoryStream(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      for (Path thread : threads) {
        String stat = Files.readString(thread.resolve("stat"));
        if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
          return false;
        }
      }
    }
    return true;
  }

  @Override
  public void close() {
    kill();
  }

  /** Writes to the peer's pool again and again, until it is killed or fails. */
  private static void push(Agent agent, String name, Region pool, PrintStream out) {
    Peer peer = agent.peer(name, Duration.ofSeconds(20));
    PreparedTransfer prepared =
        agent.prepare(Operation.WRITE, Blocks.of(pool), peer, peer.region("pool").blocks())
            .notification(new byte[] {1});
    prepared.postAndAwait(Duration.ofSeconds(20));
    out.println("pushing");
    while (true) {
      prepared.postAndAwait(Duration.ofSeconds(20));
    }
  }

  /** {@code name transport metadata-url fill}: ends when its standard input does, or when it is told. */
  public static void main(String[] arguments) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    HawserConfig config = HawserConfig.builder().environment(Map.of()).name(arguments[0]).transports(arguments[1])
        .metadata(arguments[2]).linkLease(Duration.ofSeconds(1)).metadataTtl(Duration.ofSeconds(2)).build();
    try (Agent agent = Agent.builder(config).start()) {
      Region pool = agent.allocate("pool", POOL);
      pool.segment().fill((byte) Integer.parseInt(arguments[3]));
      out.println("ready");
      while (true) {
        Notification told;
        try {
          told = agent.awaitNotification(Duration.ofMinutes(2));
        } catch (AwaitTimeoutException e) {
          return; // the test has forgotten us
        }
        if (told.text().equals("end")) {
          return;
        }
        if (told.text().equals("push")) {
          push(agent, told.peer(), pool, out);
        }
        out.println(told.text() + " " + pool.segment().get(ValueLayout.JAVA_BYTE, POOL - 1));
      }
    }
  }
}
