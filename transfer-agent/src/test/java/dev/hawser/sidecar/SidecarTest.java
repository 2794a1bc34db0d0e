/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.Agent;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Setting;
import dev.hawser.capi.Functions;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.UnixSockets;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;
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
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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
        .hasMessageContaining("at most 107 bytes; give a shorter one");
    assertThatThrownBy(() -> Sidecar.start(Path.of(""))).isInstanceOf(SidecarException.class)
        .hasMessageContaining("is empty: give one");
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

  @Test
  void nobodyOwnsWhatWasMadeForACallerThatHasGone() throws Exception {
    try (Sidecar _ = Sidecar.start(socket()); Worker worker = Worker.greeted(socket(), 7)) {
      long agent = worker.agent("a", ALONE);
      int port;
      try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        port = free.getLocalPort();
      }
      String listening = "listen=127.0.0.1:" + port + "\n" + ALONE;
      try (Worker deaf = Worker.greeted(socket(), 7); Worker other = Worker.greeted(socket(), 7)) {
        deaf.hearNothing();
        deaf.send(Worker.number("region_allocate"), agent, "kv", 4096L, 0L);
        other.hearNothing();
        other.send(Worker.number("agent_start"), "b", listening);
        // Both are done, for the asker was there when they were begun; nobody hears of them.
        assertThat(deaf.isHungUpOn()).isTrue();
        assertThat(other.isHungUpOn()).isTrue();
      }
      ByteBuffer again = worker.call("region_allocate", agent, "kv", 4096L, 0L);
      assertThat(again.getLong()).as("the name is free").isZero();
      assertThat(worker.agent("c", listening)).as("and so is the port").isPositive();
    }
  }

  @Test
  void seesThatWhoAskedHasHungUpThoughTheQuestionIsThere() {
    int[] ends = Sockets.pair();
    try (Connection connection = new Connection(ends[0])) {
      assertThat(UnixSockets.send(ends[1], new Writer().number(1).message(Message.UNSHARE))).isPositive();
      Sockets.shutdownInput(ends[1]);
      assertThat(connection.isHungUp()).as("it only hears nothing").isFalse();
      Sockets.close(ends[1]);
      assertThat(connection.isHungUp()).isTrue();
      assertThat(requireNonNull(connection.receive()).number()).isEqualTo(Message.UNSHARE);
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
      } catch (java.net.SocketException e) {
        // Reset: it was still listening when the connection came in, and ended before it was taken. The next is refused.
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
  void whatIsShortForAMomentIsWaitedFor() throws Exception {
    Queue<Integer> errors = new ConcurrentLinkedQueue<>(List.of(24, 23, 12, 105, 103)); // EMFILE and so on
    Queue<Boolean> noThread = new ConcurrentLinkedQueue<>(List.of(true, true));
    List<LogRecord> told = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger(SidecarSocket.class.getName());
    Handler handler = new Handler() {
      @Override
      public void publish(LogRecord line) {
        told.add(line);
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
    logger.addHandler(handler);
    try (
        Sidecar sidecar = Sidecar.start(SidecarSocket.listen(socket(), fd -> {
          Integer error = errors.poll();
          return error == null ? Sockets.accept(fd) : -error;
        }), work -> noThread.poll() == null ? new Thread(work) : new Thread(work) {
          @Override
          public synchronized void start() {
            throw new OutOfMemoryError("unable to create native thread");
          }
        });
        Worker worker = Worker.greeted(socket(), 1)) {
      assertThat(worker.agent("a", ALONE)).isPositive();
      assertThat(errors).isEmpty();
      assertThat(noThread).isEmpty();
      assertThat(sidecar.failure().toCompletableFuture()).isNotDone();
      assertThat(told).as("one line for all of it").hasSize(1);
    } finally {
      logger.removeHandler(handler);
    }
  }

  @Test
  @Timeout(8) // less than the end has for those that do not hear
  void endsWhileSomethingIsShort() throws Exception {
    CountDownLatch tried = new CountDownLatch(2);
    try (Sidecar _ = Sidecar.start(SidecarSocket.listen(socket(), _ -> {
      tried.countDown();
      return -24;
    }), Thread::new)) {
      tried.await();
    }
    assertThat(socket()).doesNotExist();
  }

  @Test
  void whatDoesNotPassIsTold() throws Exception {
    try (Sidecar sidecar = Sidecar.start(SidecarSocket.listen(socket(), _ -> -22), Thread::new)) {
      assertThat(sidecar.failure().toCompletableFuture().get()).hasMessageContaining("EINVAL")
          .hasMessageContaining("start the agent again");
      assertThatThrownBy(() -> Worker.silent(socket())).as("nobody waits there in vain")
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void memoryStaysMappedWhileARegionIsInIt() throws IOException {
    int page = PageMappings.pageBytes();
    long start = 1L << 45; // far from where Linux puts what threads of this process map meanwhile
    Path file = Files.write(folder.resolve("memory"), new byte[4 * page]);
    try (Sidecar _ = Sidecar.start(socket()); Worker worker = Worker.greeted(socket(), 1)) {
      long agent = worker.agent("a", ALONE);
      assertThat(shared(0, page, file)).as("where null is").isEqualTo(-1);
      assertThat(shared(start + 8, page, file)).as("within a page").isEqualTo(-1);
      assertThat(shared(start, 4L * page, file)).isZero();

      ByteBuffer registered = worker.call("region_register", agent, "r", start + page, (long) page, 0L, 3L);
      assertThat(registered.getLong()).as(() -> Worker.text(registered)).isZero();
      long region = registered.getLong();
      ByteBuffer refused = worker.ask(Message.UNSHARE, start);
      assertThat(refused.getLong()).isEqualTo(-12);
      assertThat(Worker.text(refused)).contains("a region is registered in it; close it first");
      assertThat(PageMappings.isMapped(start)).isTrue();

      assertThat(worker.call("region_close", region, 1_000_000_000L).getLong()).isZero();
      assertThat(worker.ask(Message.UNSHARE, start).getLong()).isZero();
      assertThat(PageMappings.isMapped(start)).isFalse();

      assertThat(shared(start, 4L * page, file)).isZero();
      assertThat(worker.call("region_register", agent, "r", start, (long) page, 0L, 3L).getLong()).isZero();
      assertThat(worker.call("agent_close", agent).getLong()).isZero();
      assertThat(worker.ask(Message.UNSHARE, start).getLong()).as("its agent has ended").isZero();
    }
  }

  /** What the sidecar says when worker 1 shares a file, by a connection of its own that can send descriptors. */
  private long shared(long start, long length, Path file) {
    int fd = UnixSockets.connect(socket());
    int memory = FileDescriptors.open(file.toString(), FileDescriptors.O_RDWR);
    try {
      byte[] key = Arrays.copyOf(new byte[] {'1'}, 16);
      UnixSockets.send(fd, message(Message.HELLO, 28).putLong(Message.VERSION).putInt(16).put(key).array());
      answer(fd);
      UnixSockets.send(fd, message(Message.SHARE, 24).putLong(start).putLong(length).putLong(0).array(), memory);
      return answer(fd).getLong();
    } finally {
      Sockets.close(memory);
      Sockets.close(fd);
    }
  }

  private static ByteBuffer message(int number, int bytes) {
    return ByteBuffer.allocate(6 + bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(bytes).putShort((short) number);
  }

  private static ByteBuffer answer(int fd) {
    int length = ByteBuffer.wrap(received(fd, 6)).order(ByteOrder.LITTLE_ENDIAN).getInt();
    return ByteBuffer.wrap(received(fd, length)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] received(int fd, int bytes) {
    byte[] all = {};
    while (all.length < bytes) {
      Sockets.poll(fd, Sockets.POLLIN, 60_000);
      byte[] part = requireNonNull(UnixSockets.receive(fd, bytes - all.length)).bytes();
      assertThat(part).as("it is not hung up on").isNotEmpty();
      int got = all.length;
      all = Arrays.copyOf(all, got + part.length);
      System.arraycopy(part, 0, all, got, part.length);
    }
    return all;
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
