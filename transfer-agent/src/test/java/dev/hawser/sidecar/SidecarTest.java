/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.Agent;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Setting;
import dev.hawser.capi.Functions;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What workers may rely on, and what becomes of those that do not keep to the words. */
class SidecarTest {
  private static final String ALONE = "transports=tcp\n[environment]\n";

  @TempDir
  private Path folder;

  private Path socket() {
    return folder.resolve("s");
  }

  @Test
  void hasASignatureForEachFunction() {
    Functions functions = new Functions();
    assertThat(Signature.ALL).extracting(Signature::function).isEqualTo(functions.names());
    assertThat(Signature.ALL).extracting(signature -> signature.letters().length())
        .isEqualTo(functions.argumentCounts());
  }

  @Test
  void socketIsItsUsersAloneAndGoesWithIt() throws IOException {
    try (Sidecar _ = Sidecar.start(socket())) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket()))).isEqualTo("rw-------");
      assertThatThrownBy(() -> Sidecar.start(socket())).isInstanceOf(SidecarException.class)
          .hasMessageContaining("another agent listens at " + socket());
    }
    assertThat(socket()).doesNotExist();
    assertThatThrownBy(() -> Sidecar.start(folder.resolve("no/s"))).isInstanceOf(SidecarException.class)
        .hasMessageContaining("its folder is not there");
    assertThatThrownBy(() -> Sidecar.start(folder.resolve("x".repeat(120)))).isInstanceOf(SidecarException.class)
        .hasMessageContaining("107 bytes");
  }

  @Test
  void onlyASocketThatWasLeftIsTakenOver() throws IOException {
    Files.writeString(socket(), "precious");
    assertThatThrownBy(() -> Sidecar.start(socket())).isInstanceOf(SidecarException.class)
        .hasMessageContaining("is no socket");
    assertThat(socket()).hasContent("precious");
    Files.delete(socket());

    // Nobody listens there any more.
    java.nio.channels.ServerSocketChannel left =
        java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX);
    left.bind(java.net.UnixDomainSocketAddress.of(socket()));
    left.close();
    try (Sidecar _ = Sidecar.start(socket()); Worker worker = Worker.greeted(socket(), 1)) {
      assertThat(worker.agent("a", ALONE)).isPositive();
      // And what another one has put in the place of ours is left alone.
      Files.delete(socket());
      Files.writeString(socket(), "another's");
    }
    assertThat(socket()).hasContent("another's");
  }

  @Test
  void agentsLiveAsLongAsAnyConnectionOfTheirWorker() throws IOException {
    try (Sidecar _ = Sidecar.start(socket())) {
      int port;
      try (Worker _ = Worker.greeted(socket(), 7)) {
        try (Worker first = Worker.greeted(socket(), 7)) {
          port = port(first, first.agent("a", ALONE));
        }
        connect(port).close();
      }
      // The end is seen by another thread than the one that answers us.
      assertThat(refusedWithin(port, Duration.ofSeconds(20))).as("its agent has ended").isTrue();
    }
  }

  private static int port(Worker worker, long agent) throws IOException {
    ByteBuffer answer = worker.call("agent_describe", agent, 4096L);
    assertThat(answer.getLong()).isPositive();
    String facts = Worker.text(answer);
    java.util.regex.Matcher address =
        java.util.regex.Pattern.compile("\"addresses\":\\[\"[^\"]*:([0-9]+)\"").matcher(facts);
    assertThat(address.find()).as(facts).isTrue();
    return Integer.parseInt(address.group(1));
  }

  private static Socket connect(int port) throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), port);
  }

  private static boolean refusedWithin(int port, Duration time) throws IOException {
    long deadline = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < deadline) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
      } catch (java.net.ConnectException e) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  @Test
  void errorsAreThoseOfTheFunction() throws IOException {
    try (Sidecar _ = Sidecar.start(socket()); Worker worker = Worker.greeted(socket(), 1)) {
      ByteBuffer answer = worker.call("agent_close", 42L);
      assertThat(answer.getLong()).isEqualTo(-2);
      assertThat(Worker.text(answer)).contains("42 is no handle");
      assertThat(answer.getLong()).as("the cause").isZero();

      answer = worker.call("agent_start", "a", "no-such-setting=1\n[environment]\n");
      assertThat(answer.getLong()).isEqualTo(-1);
      assertThat(Worker.text(answer)).contains("no-such-setting");

      long agent = worker.agent("a", ALONE);
      answer = worker.call("region_register", agent, "r", 4096L, 4096L, 0L, 0L);
      assertThat(answer.getLong()).isEqualTo(-1);
      assertThat(Worker.text(answer)).contains("not shared with the sidecar");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"no greeting", "short key", "cut short", "no such function", "too long", "fewer rows",
      "fewer bytes"})
  void whoeverDoesNotKeepToTheWordsIsHungUpOnAndNobodyElse(String how) throws IOException {
    try (Sidecar _ = Sidecar.start(socket()); Worker good = Worker.greeted(socket(), 1)) {
      long agent = good.agent("a", ALONE);
      try (Worker bad = how.equals("no greeting") || how.equals("short key") ? Worker.silent(socket())
          : Worker.greeted(socket(), 2)) {
        assertThatThrownBy(() -> {
          switch (how) {
            case "no greeting" -> bad.call("agent_poll", 1L);
            case "short key" -> bad.ask(Message.HELLO, (long) Message.VERSION, new byte[3]);
            case "cut short" -> bad.ask(Worker.number("agent_poll"));
            case "no such function" -> bad.ask(999);
            case "too long" -> {
              bad.write(ByteBuffer.allocate(6).order(ByteOrder.LITTLE_ENDIAN).putInt(-1).putShort((short) 0).flip());
              bad.answer();
            }
            case "fewer rows" -> bad.call("blocks_triples", new byte[24], 1L << 20, 0L);
            default -> bad.call("peer_add", 1L, new byte[24], 1L << 30);
          }
        }).isInstanceOfAny(EOFException.class, IOException.class);
      }
      assertThat(good.call("agent_poll", agent).getLong()).as("the others go on").isNotNegative();
    }
  }

  @Test
  void anotherVersionIsToldOurs() throws IOException {
    try (Sidecar _ = Sidecar.start(socket()); Worker worker = Worker.silent(socket())) {
      assertThat(worker.ask(Message.HELLO, 99L, new byte[16]).getLong()).isEqualTo(Message.VERSION);
      assertThatThrownBy(() -> worker.call("agent_poll", 1L)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void drainsWhatIsUnderWayAndLetsNothingBegin() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Sidecar sidecar = Sidecar.start(socket());
        Worker worker = Worker.greeted(socket(), 1);
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      long agent = worker.agent("a", "transfer-timeout=1s\n" + ALONE);
      long peer = peerAt(worker, agent, mute);
      ByteBuffer started = worker.call("transfer_start", agent, notifying(peer), new byte[0], new byte[0],
          options("hello"), "hello", "r");
      assertThat(started.getLong()).as(() -> Worker.text(started)).isZero();

      assertThat(sidecar.drain(Duration.ofMillis(1))).as("it has not ended yet").isOne();
      assertThat(socket()).as("nobody else connects").doesNotExist();
      ByteBuffer refused = worker.call("agent_start", "b", ALONE);
      assertThat(refused.getLong()).isEqualTo(-7);
      assertThat(Worker.text(refused)).contains("is being ended");
      Future<Integer> left = executor.submit(() -> sidecar.drain(Duration.ofSeconds(60)));
      assertThat(left.get()).as("its deadline has ended it").isZero();
    }
  }

  /** A peer that was at an address at which there is somebody who says nothing now. */
  private static long peerAt(Worker worker, long agent, ServerSocket mute) throws IOException {
    int port = mute.getLocalPort();
    mute.close();
    byte[] blob;
    try (Agent gone = Agent.builder(HawserConfig.builder().name("mute").environment(java.util.Map.of())
        .set(Setting.TRANSPORTS, "tcp").set(Setting.LISTEN, "127.0.0.1:" + port).build()).start()) {
      blob = gone.metadata();
    }
    ServerSocket again = new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(() -> {
      try (again; Socket _ = again.accept()) {
        again.accept();
      } catch (IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    });
    ByteBuffer added = worker.call("peer_add", agent, blob, (long) blob.length);
    assertThat(added.getLong()).isZero();
    return added.getLong();
  }

  private static byte[] notifying(long peer) {
    return ByteBuffer.allocate(72).order(ByteOrder.LITTLE_ENDIAN).putInt(72).putInt(0).putLong(peer).array();
  }

  private static byte[] options(String notification) {
    return ByteBuffer.allocate(56).order(ByteOrder.LITTLE_ENDIAN).putInt(56).putInt(0).putLong(0)
        .putLong(notification.length()).array();
  }
}
