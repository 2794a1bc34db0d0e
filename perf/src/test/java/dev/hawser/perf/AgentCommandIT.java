/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code hawser agent} as a process of its own, as a service manager starts it; workers of it are in Python's tests. */
class AgentCommandIT {
  private static final int DEADLINE_SECONDS = 60;

  @TempDir
  private Path folder;

  private Process start(Path socket) throws IOException {
    return start(socket.toString());
  }

  private Process start(String socket) throws IOException {
    return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED", "--illegal-native-access=deny", "-cp",
        System.getProperty("java.class.path"), Hawser.class.getName(), "agent", "--socket", socket).start();
  }

  private static BufferedReader reader(Process process, boolean errors) {
    return new BufferedReader(new InputStreamReader(errors ? process.getErrorStream() : process.getInputStream(),
        StandardCharsets.UTF_8));
  }

  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES)
  void servesWorkersUntilSigterm() throws IOException, InterruptedException {
    Path socket = folder.resolve("agent.sock");
    Process process = start(socket);
    try (BufferedReader out = reader(process, false); BufferedReader err = reader(process, true)) {
      assertThat(out.readLine()).isEqualTo("hawser agent: unix:" + socket);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket))).isEqualTo("rw-------");
      try (SocketChannel worker = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        worker.connect(UnixDomainSocketAddress.of(socket));
        // HELLO: a length, its number, the version, and a key of 16 bytes with its length.
        worker.write(ByteBuffer.allocate(34).order(ByteOrder.LITTLE_ENDIAN).putInt(28).putShort((short) 0xFFF0)
            .putLong(4).putInt(16).position(0));
        ByteBuffer answer = ByteBuffer.allocate(14).order(ByteOrder.LITTLE_ENDIAN);
        while (answer.hasRemaining()) {
          assertThat(worker.read(answer)).isPositive();
        }
        assertThat(answer.getLong(6)).as("its version").isEqualTo(4);

        Process second = start(socket);
        try (BufferedReader told = reader(second, true)) {
          assertThat(second.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
          assertThat(second.exitValue()).isOne();
          assertThat(told.readLine()).startsWith("hawser agent: error: another agent listens at " + socket);
        } finally {
          second.destroyForcibly();
        }

        process.toHandle().destroy();
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).as("it ends on SIGTERM").isTrue();
        assertThat(process.exitValue()).as("what a JVM says that SIGTERM has ended").isEqualTo(143);
        assertThat(socket).doesNotExist();
        assertThat(err.readLine()).isNull();
      }
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES)
  void aPathThatCannotBeIsToldWithWhatToDo() throws IOException, InterruptedException {
    for (String given : List.of("", "unix:", folder.resolve("x".repeat(120)).toString())) {
      Process process = start(given);
      try (BufferedReader err = reader(process, true)) {
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(given.length() > 100 ? 1 : 2);
        assertThat(err.readLine()).contains(given.length() > 100 ? "at most 107 bytes; give a shorter one"
            : "--socket is empty: give a path");
      } finally {
        process.destroyForcibly();
      }
    }
  }

  @Test
  @Timeout(value = 3, unit = TimeUnit.MINUTES)
  void aSocketThatWasLeftIsTakenOver() throws IOException, InterruptedException {
    Path socket = folder.resolve("agent.sock");
    for (int round = 0; round < 2; round++) {
      Process process = start(round == 0 ? socket.toString() : "unix:" + socket); // as workers name it
      try (BufferedReader out = reader(process, false)) {
        assertThat(out.readLine()).isEqualTo("hawser agent: unix:" + socket);
        process.destroyForcibly();
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(socket).as("SIGKILL removes nothing").exists();
      } finally {
        process.destroyForcibly();
      }
    }
  }
}
