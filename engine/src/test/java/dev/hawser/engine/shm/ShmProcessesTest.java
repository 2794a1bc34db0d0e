/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.engine.mapped.ProcessIdentity;
import dev.hawser.engine.mapped.TargetConnection;
import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two processes, and what happens when one of them is killed or stopped. */
@Timeout(120)
class ShmProcessesTest {
  private static final long BYTES = ShmChild.BYTES;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final List<String> said = Collections.synchronizedList(new ArrayList<>());
  private final Recorder events = new Recorder();
  private final DataRequest request = new DataRequest();
  private final Arena arena = Arena.ofShared();
  private MemoryRegistry registry;
  private ShmTransport transport;
  private int listener;
  private String classPath = System.getProperty("java.class.path");
  private @Nullable Process started;
  private @Nullable Thread listening;

  @BeforeEach
  void open() {
    registry = MemoryRegistry.create();
    transport = PathRig.transport(registry, Map.of());
    listener = Sockets.listen(InetEndpoint.of("127.0.0.1", 0), 1);
  }

  @AfterEach
  void close() throws InterruptedException {
    if (started != null) {
      started.destroyForcibly().waitFor(20, TimeUnit.SECONDS);
      join();
    }
    Sockets.close(listener);
    transport.close();
    registry.close();
    arena.close();
  }

  private List<String> java(String... arguments) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath,
                ShmChild.class.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  private void start(List<String> command) throws IOException {
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    started = process;
    BufferedReader lines = process.inputReader();
    listening = Thread.ofVirtual().start(() -> lines.lines().forEach(said::add));
  }

  private Process child() {
    return Objects.requireNonNull(started);
  }

  private void join() throws InterruptedException {
    Objects.requireNonNull(listening).join();
  }

  private int accept() {
    assertThat(Sockets.poll(listener, Sockets.POLLIN, 30_000)).as("the child comes").isNotZero();
    return Sockets.accept(listener);
  }

  private String port() {
    return Integer.toString(Sockets.local(listener).port());
  }

  private void signal(String name) throws IOException, InterruptedException {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(child().pid())).inheritIO().start();
    assertThat(kill.waitFor()).isZero();
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
      if (System.nanoTime() > deadline) {
        throw new AssertionError("waited in vain: " + what);
      }
    }
  }

  private boolean heard(String beginning) {
    synchronized (said) {
      return said.stream().anyMatch(line -> line.startsWith(beginning));
    }
  }

  /** The process is stopped as {@code /proc} tells it: the fault did happen. */
  private boolean isStopped() {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(child().pid()), "stat"));
      return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  // ------------------------------------------------------------------------------ this process initiates

  private Connection initiate(RemoteRegion[] there, boolean mapped) throws IOException {
    start(java("serve", port(), mapped ? "mapped" : "kernel"));
    int fd = accept();
    byte[] description = Wire.receive(fd);
    PathSetup setup = transport.initiate(new Reachability.Route(transport.rails().getFirst(), "shm"), "peer",
        ShmChild.KEY, description);
    Wire.send(fd, setup.message());
    byte[] answer = Wire.receive(fd);
    there[0] = Wire.decode(Wire.receive(fd));
    return setup.connect(answer, new TestStream(fd));
  }

  private static TransferPlan plan(Region here, RemoteRegion there, long offset, long bytes) {
    return new TransferPlan(
        BlockPairs.of(BlockList.of(here.address() + offset, bytes), BlockList.of(there.address() + offset, bytes)),
        new Region[] {here},
        new RemoteRegion[] {there});
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bytesOfAnotherProcessAreWrittenAndRead(boolean mapped) throws IOException {
    RemoteRegion[] there = new RemoteRegion[1];
    Connection connection = initiate(there, mapped);
    Region here = registry.allocate(BYTES, Access.LOCAL);
    long[][] ranges = {{0, 1}, {3, 13}, {4095, 70_001}, {0, BYTES}};
    long seed = 10;
    for (long[] range : ranges) {
      seed += 10;
      TransferPlan plan = plan(here, there[0], range[0], range[1]);
      Pattern.fill(here.segment(), seed);
      assertThat(connection.postData(1, request.set(Op.WRITE, 1, 0, plan, 0, range[1]))).isTrue();
      assertThat(connection.postFlush(2, seed, false)).isTrue();
      ByteBuffer message =
          ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN).putLong(range[0]).putLong(range[1]).putLong(seed)
              .flip();
      assertThat(connection.postMessage(3, message)).isTrue();
      connection.flushPosted();
      int answers = events.messages.size();
      await(
          "the child's answer",
          () -> {
            connection.poll(events);
            return events.messages.size() > answers && events.completed.size() == 3;
          });
      assertThat(events.completed)
          .containsExactly(
              new Recorder.Completed(1, WorkStatus.SUCCESS),
              new Recorder.Completed(2, WorkStatus.SUCCESS),
              new Recorder.Completed(3, WorkStatus.SUCCESS));
      events.completed.clear();
      String flush = "flush " + seed + " false";
      await("the child's words", () -> heard(flush));
      await("the child's words", () -> said.size() == 2);
      assertThat(said.getLast()).isEqualTo("mismatch -1");
      said.clear();

      // The child has changed it meanwhile.
      here.segment().fill((byte) 0);
      assertThat(connection.postData(4, request.set(Op.READ, 1, 0, plan, 0, range[1]))).isTrue();
      await(
          "the read",
          () -> {
            connection.poll(events);
            return !events.completed.isEmpty();
          });
      assertThat(events.completed).containsExactly(new Recorder.Completed(4, WorkStatus.SUCCESS));
      events.completed.clear();
      assertThat(Pattern.mismatch(here.segment().asSlice(range[0], range[1]), 0, seed + 1)).isEqualTo(-1);
    }
    end(connection);
    await("the child ends", () -> heard("end"));
    assertThat(heard("fault RESET")).isTrue();
  }

  private void end(Connection connection) {
    connection.abort();
    await(
        "drained",
        () -> {
          connection.poll(events);
          return connection.drained();
        });
    connection.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTargetThatIsKilledFailsThePath(boolean mapped) throws IOException, InterruptedException {
    RemoteRegion[] there = new RemoteRegion[1];
    Connection connection = initiate(there, mapped);
    Region here = registry.allocate(BYTES, Access.LOCAL);
    TransferPlan plan = plan(here, there[0], 0, BYTES);
    int done = 0;
    while (done < 3) {
      connection.postData(1, request.set(Op.WRITE, 1, 0, plan, 0, BYTES));
      connection.poll(events);
      done = events.completed.size();
    }
    child().destroyForcibly();
    await(
        "the fault",
        () -> {
          connection.postData(2, request.set(Op.WRITE, 1, 0, plan, 0, BYTES));
          connection.poll(events);
          return !events.faults.isEmpty();
        });
    assertThat(child().waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(events.faults).hasSize(1);
    assertThat(events.faults.getFirst().kind()).isEqualTo(PathFault.Kind.RESET);
    assertThat(events.faults.getFirst().detail()).contains("process " + child().pid());
    end(connection);
    assertThat(events.completed).extracting(Recorder.Completed::status)
        .containsOnly(WorkStatus.SUCCESS, WorkStatus.FLUSHED);
    assertThat(here.uses()).isZero();
  }

  /** Its memory is still mapped here, and could be written to. */
  @Test
  void nothingIsAcknowledgedThatIsPostedAfterTheTargetsEnd() throws IOException, InterruptedException {
    RemoteRegion[] there = new RemoteRegion[1];
    Connection connection = initiate(there, true);
    Region here = registry.allocate(BYTES, Access.LOCAL);
    connection.postData(1, request.set(Op.WRITE, 1, 0, plan(here, there[0], 0, BYTES), 0, BYTES));
    await(
        "it is mapped",
        () -> {
          connection.poll(events);
          return !events.completed.isEmpty();
        });
    events.completed.clear();
    child().destroyForcibly();
    assertThat(child().waitFor(20, TimeUnit.SECONDS)).isTrue();

    // What is large is looked after before it completes.
    assertThat(connection.postData(2, request.set(Op.WRITE, 1, 0, plan(here, there[0], 0, BYTES), 0, BYTES))).isTrue();
    await(
        "the fault",
        () -> {
          connection.poll(events);
          return !events.faults.isEmpty();
        });
    assertThat(connection.postData(3, request.set(Op.WRITE, 1, 0, plan(here, there[0], 0, 8), 0, 8))).isFalse();
    end(connection);
    assertThat(events.completed).containsExactly(new Recorder.Completed(2, WorkStatus.FLUSHED));
    assertThat(connection.peerEnd()).isEqualTo("process " + child().pid() + " ended");
  }

  /** What is small is done at once: the engine looks before. */
  @Test
  void aLookTellsOfTheTargetsEnd() throws IOException, InterruptedException {
    RemoteRegion[] there = new RemoteRegion[1];
    Connection connection = initiate(there, true);
    Region here = registry.allocate(BYTES, Access.LOCAL);
    TransferPlan plan = plan(here, there[0], 0, 8);
    assertThat(connection.postData(1, request.set(Op.WRITE, 1, 0, plan, 0, 8))).isTrue();
    await(
        "it is mapped",
        () -> {
          connection.poll(events);
          return !events.completed.isEmpty();
        });
    assertThat(connection.peerEnd()).isEmpty();
    child().destroyForcibly();
    assertThat(child().waitFor(20, TimeUnit.SECONDS)).isTrue();

    connection.lookAtPeer();
    assertThat(connection.postData(2, request.set(Op.WRITE, 1, 0, plan, 0, 8))).isFalse();
    connection.poll(events);
    assertThat(events.faults).extracting(PathFault::kind).containsExactly(PathFault.Kind.RESET);
    end(connection);
    assertThat(events.completed).containsExactly(new Recorder.Completed(1, WorkStatus.SUCCESS));
    assertThat(connection.peerEnd()).isEqualTo("process " + child().pid() + " ended");
  }

  // ------------------------------------------------------------------------------ the child initiates

  /** A target here, into whose regions the child writes without pause. */
  private final class Hammered {
    final Region mapped = registry.allocate(BYTES, Access.REMOTE_READ_WRITE);
    final Region foreign = registry.register(arena.allocate(BYTES, 64), Access.REMOTE_READ_WRITE);
    final TargetConnection connection;

    Hammered() throws IOException {
      start(java("hammer", port()));
      int fd = accept();
      Wire.send(fd, transport.description());
      byte[] offer = Wire.receive(fd);
      PathSetup setup = transport.accept("shm", "peer", ShmChild.KEY, offer);
      Wire.send(fd, setup.message());
      Wire.send(fd, Wire.encode(mapped));
      Wire.send(fd, Wire.encode(foreign));
      connection = (TargetConnection) setup.connect(offer, new TestStream(fd));
      long enough = connection.progress() + 4 * BYTES / HostMover.SLICE_BYTES;
      awaitPolling("the child writes", () -> connection.progress() > enough);
      assertThat(mapped.uses()).isEqualTo(1);
      assertThat(foreign.uses()).isEqualTo(1);
    }

    void awaitPolling(String what, BooleanSupplier condition) {
      await(
          what,
          () -> {
            connection.poll(events);
            return condition.getAsBoolean();
          });
    }

    /** From now on the memory is ours: whatever we put there stays. */
    void assertQuiet() throws InterruptedException {
      assertThat(mapped.uses()).isZero();
      assertThat(foreign.uses()).isZero();
      mapped.segment().fill((byte) 7);
      foreign.segment().fill((byte) 7);
      child().waitFor(10, TimeUnit.SECONDS);
      for (long i = 0; i < BYTES; i++) {
        if (mapped.segment().get(ValueLayout.JAVA_BYTE, i) != 7
            || foreign.segment().get(ValueLayout.JAVA_BYTE, i) != 7) {
          throw new AssertionError("a late store at " + i);
        }
      }
      assertThat(heard("stored")).isFalse();
      connection.close();
    }
  }

  @Test
  void anInitiatorThatIsKilledLeavesNothingBehind() throws IOException, InterruptedException {
    Hammered hammered = new Hammered();
    child().destroyForcibly();
    hammered.awaitPolling("the fault", () -> !events.faults.isEmpty());
    assertThat(events.faults.getFirst().kind()).isEqualTo(PathFault.Kind.RESET);
    assertThat(events.faults.getFirst().detail()).contains("process " + child().pid());
    hammered.connection.abort();
    hammered.awaitPolling("drained", hammered.connection::drained);
    assertThat(events.faults).hasSize(1);
    hammered.assertQuiet();
  }

  @Test
  void aStoppedInitiatorHoldsTheMemoryUntilItWakes() throws IOException, InterruptedException {
    Hammered hammered = stopped();
    signal("CONT");
    hammered.awaitPolling("drained", hammered.connection::drained);
    assertThat(events.faults).isEmpty();
    hammered.assertQuiet();
    await("the child ends", () -> heard("end"));
    assertThat(heard("fault RESET")).isTrue();
  }

  @Test
  void aStoppedInitiatorHoldsTheMemoryUntilItIsKilled() throws IOException, InterruptedException {
    Hammered hammered = stopped();
    signal("KILL");
    hammered.awaitPolling("drained", hammered.connection::drained);
    hammered.assertQuiet();
  }

  /** Stops the child in the middle of its writing and closes the path: quarantine holds. */
  private Hammered stopped() throws IOException, InterruptedException {
    Hammered hammered = new Hammered();
    signal("STOP");
    await("the child stops", this::isStopped);
    long progress = hammered.connection.progress();
    hammered.connection.abort();
    long until = System.nanoTime() + Duration.ofSeconds(1).toNanos();
    while (System.nanoTime() < until) {
      hammered.connection.poll(events);
      assertThat(hammered.connection.drained()).isFalse();
    }
    assertThat(hammered.mapped.uses()).isEqualTo(1);
    assertThat(hammered.foreign.uses()).isEqualTo(1);
    assertThat(hammered.connection.progress()).as("it stores nothing").isEqualTo(progress);
    assertThat(isStopped()).isTrue();
    return hammered;
  }

  // ------------------------------------------------------------------------------ permission

  private String ask(String... wrapper) throws IOException, InterruptedException {
    ProcessIdentity self = ProcessIdentity.decode(ProcessIdentity.littleEndian(transport.description()));
    assumeTrue(self.uid() == 0, "only root can start a process with other rights or in other namespaces");
    List<String> command = new ArrayList<>(List.of(wrapper));
    command.addAll(java("ask", HexFormat.of().formatHex(transport.description())));
    start(command);
    assertThat(child().waitFor(60, TimeUnit.SECONDS)).isTrue();
    join();
    assertThat(said).hasSize(1);
    return said.getFirst();
  }

  @Test
  void aProcessWithTheSameRightsIsReachable() throws IOException, InterruptedException {
    assertThat(ask("env")).isEqualTo("reachable");
  }

  @Test
  void aProcessOfAnotherUserIsToldWhy(@TempDir Path directory) throws IOException, InterruptedException {
    classPath = readableByOthers(directory);
    assertThat(ask("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        .contains("runs as uid 0, this one as uid 65534")
        .contains("same user");
  }

  /** Our classes where every user may read them: the build's own directories may be private. */
  private static String readableByOthers(Path directory) throws IOException {
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    List<String> copies = new ArrayList<>();
    for (String entry : List.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))) {
      Path from = Path.of(entry);
      boolean ours = Files.isDirectory(from) || from.getFileName().toString().startsWith("hawser-");
      if (ours && Files.exists(from)) {
        Path to = directory.resolve(copies.size() + "-" + from.getFileName());
        try (Stream<Path> files = Files.walk(from)) {
          for (Path file : files.toList()) {
            Files.copy(file, to.resolve(from.relativize(file).toString()));
          }
        }
        copies.add(to.toString());
      }
    }
    return String.join(File.pathSeparator, copies);
  }

  @Test
  void aProcessWithFewerCapabilitiesIsToldWhy() throws IOException, InterruptedException {
    assertThat(ask("setpriv", "--inh-caps=-all", "--bounding-set=-all"))
        .contains("though both run as uid 0")
        .contains("capabilities");
  }

  @Test
  void aProcessInAnotherPidNamespaceIsToldWhy() throws IOException, InterruptedException {
    assertThat(ask("unshare", "--pid", "--fork", "--mount-proc")).contains("another pid namespace").contains("--pid");
  }

  @Test
  void aProcessInAnotherUserNamespaceIsToldWhy() throws IOException, InterruptedException {
    assertThat(ask("unshare", "--user", "--map-root-user"))
        .contains("another user namespace")
        .contains("docker run --userns");
  }

  @Test
  void aProcWithoutItsOwnPidsMakesShmAbsent() throws IOException, InterruptedException {
    assertThat(ask("unshare", "--pid", "--fork")).startsWith("absent: ").contains("mount proc");
  }
}
