/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.TlsConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What comes from peers that do not keep to the protocol hurts nobody else. */
class HostilePeersTest {
  private static final Duration HANDSHAKE = Duration.ofMillis(700);
  private static final int HALF_OPEN = 8;

  private final LogCapture log = new LogCapture();
  private final TestAgent target =
      new TestAgent("b", "secret", TlsConfig.OFF, new BootstrapLimits(HALF_OPEN, HANDSHAKE, HANDSHAKE),
          "127.0.0.1:0");
  private final TestAgent initiator = new TestAgent("a", "secret");

  @AfterEach
  void closeAll() {
    initiator.close();
    target.close();
    log.close();
    assertThat(log.lines()).noneMatch(line -> line.startsWith("SEVERE"));
  }

  @Test
  void garbageIsNamedAndHurtsNobody() throws IOException {
    assertThat(answer("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII))).isEmpty();

    awaitLog("does not speak Hawser's protocol: its first bytes are 0x47455420");
    meets();
  }

  @Test
  void oversizedAndUnknownFramesAreRefusedBeforeTheirPayload() throws IOException {
    assertThat(answer(header(1, 1, 0, Frame.MAX_PAYLOAD_BYTES + 1))).isEmpty();
    awaitLog("HELLO of 65537 bytes; at most 65536 are allowed");
    assertThat(answer(header(1, 1, 0, -1))).isEmpty();
    awaitLog("HELLO of 4294967295 bytes");
    assertThat(answer(header(2, 1, 0, 0))).isEmpty();
    awaitLog("frame layout 2 is not known");
    assertThat(answer(header(1, 99, 0, 0))).isEmpty();
    awaitLog("frame type 99");
    assertThat(answer(header(1, 4, 0, 0))).isEmpty();
    awaitLog("AUTH as the first frame");
    meets();
  }

  @Test
  void everyTruncationOfAHelloEndsTheConnection() throws IOException {
    byte[] hello = hello();
    for (int length = 0; length < hello.length; length++) {
      assertThat(answer(Arrays.copyOf(hello, length))).as("the first %d bytes", length).isEmpty();
    }
    byte[] shortened = hello.clone();
    for (int payload = 0; payload < hello.length - Frame.HEADER_BYTES; payload++) {
      ByteBuffer.wrap(shortened).order(ByteOrder.LITTLE_ENDIAN).putInt(8, payload);
      byte[] sent = Arrays.copyOf(shortened, Frame.HEADER_BYTES + payload);
      assertThat(answer(sent)).as("a payload of %d bytes", payload).isEmpty();
    }
    assertThat(answer(hello)).isNotEmpty();
    assertThat(target.events).isEmpty();
    meets();
  }

  @Test
  void mutatedHellosNeverReachTheHandler() throws IOException {
    long seed = 20_251_129;
    Random random = new Random(seed);
    byte[] hello = hello();
    for (int i = 0; i < 400; i++) {
      byte[] mutated = hello.clone();
      for (int n = random.nextInt(4); n >= 0; n--) {
        mutated[random.nextInt(mutated.length)] = (byte) random.nextInt();
      }
      answer(mutated);
    }
    assertThat(target.events).as("seed %d", seed).isEmpty();
    meets();
  }

  @Test
  void anotherVersionIsToldWhichOnesAreSpoken() throws IOException {
    byte[] hello = hello();
    ByteBuffer.wrap(hello).order(ByteOrder.LITTLE_ENDIAN).putShort(12, (short) 8).putShort(14, (short) 9);

    byte[] answer = answer(hello);

    Frame frame =
        new Frame(FrameType.REFUSE, Arrays.copyOfRange(answer, Frame.HEADER_BYTES, answer.length));
    Refusal refusal = Messages.RefuseMessage.decode(frame).refusal();
    assertThat(refusal.code()).isEqualTo(Refusal.Code.VERSION);
    assertThat(refusal.message()).contains("versions 1 to 1").contains("8 to 9");
  }

  @Test
  void connectionsThatSayNothingAreClosedInTheEnd() throws IOException {
    List<Socket> mute = new ArrayList<>();
    for (int i = 0; i < HALF_OPEN; i++) {
      mute.add(connect());
    }
    for (Socket each : mute) {
      assertThat(read(each)).isEmpty();
      each.close();
    }
    awaitLog("did not come to its end in time");
    meets();
  }

  /** Many more than there is room for, and far sooner than their time is over. */
  @Test
  void connectionsThatSayNothingGiveWayToWhoeverComes() throws IOException {
    BootstrapLimits patient = new BootstrapLimits(256, Duration.ofMinutes(5), Duration.ofMinutes(5));
    try (TestAgent crowded = new TestAgent("c", "secret", TlsConfig.OFF, patient, "127.0.0.1:0")) {
      List<Socket> mute = new ArrayList<>();
      try {
        for (int i = 0; i < 539; i++) {
          mute.add(connect(crowded.address(), "127.0.0.1"));
        }
        for (int i = 0; i < 20; i++) {
          OpenResult.Opened opened = HandshakeTest.opened(initiator.open(crowded));
          crowded.next("hello");
          opened.connection().close();
          Objects.requireNonNull(crowded.next("connected").connection()).close();
        }
        awaitLog("it has said nothing: it gives way to another");
      } finally {
        for (Socket each : mute) {
          each.close();
        }
      }
    }
  }

  /** Who speaks is not pushed out by others of the same address: there is no telling who means it. */
  @Test
  void whoSpeaksAndDoesNotGoOnIsLeftItsTime() throws IOException {
    List<Socket> slow = new ArrayList<>();
    for (int i = 0; i < HALF_OPEN; i++) {
      slow.add(beginHandshake("127.0.0.1"));
    }
    try (Socket one = connect()) {
      byte[] refused = read(one);
      Frame frame =
          new Frame(FrameType.REFUSE, Arrays.copyOfRange(refused, Frame.HEADER_BYTES, refused.length));
      assertThat(Messages.RefuseMessage.decode(frame).refusal().code()).isEqualTo(Refusal.Code.BUSY);
    }
    for (Socket each : slow) {
      read(each); // the deadline closes it
      each.close();
    }
    meets();
  }

  @Test
  void anAddressThatHasManyGivesWayToAnother() throws IOException {
    List<Socket> slow = new ArrayList<>();
    for (int i = 0; i < HALF_OPEN; i++) {
      slow.add(beginHandshake("127.0.0.1"));
    }
    Socket other = beginHandshake("127.0.0.2"); // got its answer: it was let in
    assertThat(read(slow.getFirst())).as("the oldest of the other address").isEmpty();
    awaitLog("its address has more of them than others");
    for (Socket each : slow) {
      each.close();
    }
    other.close();
  }

  /** Says HELLO, waits for the CHALLENGE, and says no more. */
  private Socket beginHandshake(String from) throws IOException {
    Socket socket = connect(target.address(), from);
    socket.getOutputStream().write(hello());
    assertThat(socket.getInputStream().readNBytes(Frame.HEADER_BYTES + 2 + 8 + 1 + 32 + 1 + 32)).isNotEmpty();
    return socket;
  }

  @Test
  void nothingThatAnybodyChangesOnTheWayIsBelieved() throws Exception {
    int hello = hello().length;
    int challenge = Frame.HEADER_BYTES + 2 + 8 + 1 + 32 + 1 + 32;
    int auth = Frame.HEADER_BYTES + 1 + 32;
    // Every bit of both directions of one handshake, one at a time, would take minutes: one bit of every other byte.
    Random random = new Random(5);
    for (int at = 0; at < hello + auth; at += 2) {
      assertThat(throughProxy(true, at, random.nextInt(8))).as("initiator's byte %d", at)
          .isNotInstanceOf(OpenResult.Opened.class);
    }
    for (int at = 0; at < challenge + 40; at += 2) {
      assertThat(throughProxy(false, at, random.nextInt(8))).as("target's byte %d", at)
          .isNotInstanceOf(OpenResult.Opened.class);
    }
    HandshakeTest.opened(throughProxy(true, Integer.MAX_VALUE, 0)).connection().close();
  }

  /** Opens a path through a proxy that flips one bit. */
  private OpenResult throughProxy(boolean fromInitiator, int at, int bit) throws Exception {
    try (ServerSocket proxy = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var result =
          initiator.begin(
              Duration.ofSeconds(2), initiator.hello("b"), "127.0.0.1:" + proxy.getLocalPort());
      Thread there;
      Thread back;
      OpenResult opened;
      try (Socket left = proxy.accept();
          Socket right = connect()) {
        there = Thread.ofVirtual().start(() -> pump(left, right, fromInitiator ? at : Integer.MAX_VALUE, bit));
        back = Thread.ofVirtual().start(() -> pump(right, left, fromInitiator ? Integer.MAX_VALUE : at, bit));
        opened = TestAgent.await(result);
      }
      there.join();
      back.join();
      return opened;
    }
  }

  private void pump(Socket from, Socket to, int at, int bit) {
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      byte[] buffer = new byte[4096];
      int seen = 0;
      for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
        if (at >= seen && at < seen + n) {
          buffer[at - seen] ^= (byte) (1 << bit);
        }
        seen += n;
        out.write(buffer, 0, n);
      }
      to.shutdownOutput();
    } catch (IOException e) {
      // One of the agents has hung up, and the other is to see it.
      try {
        from.close();
        to.close();
      } catch (IOException failed) {
        throw new AssertionError(failed);
      }
    }
  }

  private void meets() {
    target.events.clear();
    OpenResult.Opened opened = HandshakeTest.opened(initiator.open(target));
    target.next("hello");
    opened.connection().close();
    TestAgent.Event connected = target.next("connected");
    Objects.requireNonNull(connected.connection()).close();
  }

  private byte[] hello() {
    Messages.Opening opening = Messages.Opening.ours(true, new byte[Messages.NONCE_BYTES]);
    return new Messages.HelloMessage(opening, initiator.hello("b"), new byte[] {1, 2, 3}).encode().encode().array();
  }

  private static byte[] header(int layout, int type, int flags, int length) {
    return ByteBuffer.allocate(Frame.HEADER_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(Frame.MAGIC)
        .put((byte) layout)
        .put((byte) type)
        .putShort((short) flags)
        .putInt(length)
        .array();
  }

  private Socket connect() throws IOException {
    return connect(target.address(), "127.0.0.1");
  }

  private static Socket connect(String address, String from) throws IOException {
    int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName(from), 0);
    socket.setSoTimeout(10_000);
    return socket;
  }

  /** Everything that the target says to these bytes, until it closes. */
  private byte[] answer(byte[] bytes) throws IOException {
    try (Socket socket = connect()) {
      try {
        socket.getOutputStream().write(bytes);
        socket.shutdownOutput();
      } catch (SocketException e) {
        return new byte[0]; // closed already
      }
      return read(socket);
    }
  }

  private static byte[] read(Socket socket) throws IOException {
    try {
      return socket.getInputStream().readAllBytes();
    } catch (SocketException e) {
      return new byte[0]; // reset: bytes of ours were left unread
    }
  }

  private void awaitLog(String part) {
    long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (log.lines().stream().noneMatch(line -> line.contains(part))) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("'" + part + "' was not logged: " + log.lines());
      }
      Thread.onSpinWait();
    }
  }
}
