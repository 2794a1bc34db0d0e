/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.PathAnswer;
import dev.hawser.engine.mapped.PathOffer;
import dev.hawser.engine.mapped.ProcFiles;
import dev.hawser.engine.mapped.ProcessIdentity;
import dev.hawser.engine.mapped.TargetConnection;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.PageMappings;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who is reached, who is not and why, and that nobody else is touched. */
class ShmSetupTest {
  private static final PathKey KEY = new PathKey(1, 1);

  private MemoryRegistry registry;
  private ShmTransport transport;

  @BeforeEach
  void open() {
    registry = MemoryRegistry.create();
    transport = PathRig.transport(registry, Map.of());
  }

  @AfterEach
  void close() {
    transport.close();
    registry.close();
  }

  private static ProcessIdentity identity(ShmTransport of) {
    return ProcessIdentity.decode(ProcessIdentity.littleEndian(of.description()));
  }

  private static byte[] description(ProcessIdentity identity) {
    ByteBuffer to = ProcessIdentity.littleEndian(new byte[4096]);
    identity.encode(to);
    return ProcessIdentity.toBytes(to);
  }

  private String reason(UnaryOperator<ProcessIdentity> change) {
    return switch (transport.reach(description(change.apply(identity(transport))))) {
      case Reachability.Unreachable(String reason) -> reason;
      case Reachability.Reachable reachable -> throw new AssertionError("it is reachable: " + reachable);
    };
  }

  @Test
  void theServiceLoaderFindsIt() {
    assertThat(ServiceLoader.load(TransportProvider.class).stream().map(p -> p.get().name())).contains("shm");
  }

  @Test
  void itselfIsReached() {
    assertThat(transport.name()).isEqualTo("shm");
    assertThat(transport.rails()).hasSize(1);
    assertThat(transport.description().length).isLessThanOrEqualTo(4096);
    assertThat(transport.traits().mapped()).isTrue();
    assertThat(transport.traits().synchronous()).isTrue();
    assertThat(transport.reach(transport.description())).isInstanceOf(Reachability.Reachable.class);
  }

  @Test
  void otherHostsAndNamespacesAreExplained() {
    assertThat(
        reason(
            i -> new ProcessIdentity(
                "other", i.pidNamespace(), i.userNamespace(), i.timeNamespace(), i.pid(), i.startTicks(),
                i.uid(), true)))
        .contains("another host");
    assertThat(
        reason(
            i -> new ProcessIdentity(
                i.bootId(), "pid:[1]", i.userNamespace(), i.timeNamespace(), i.pid(), i.startTicks(), i.uid(),
                true)))
        .contains("another pid namespace")
        .contains("--pid");
    assertThat(
        reason(
            i -> new ProcessIdentity(
                i.bootId(), i.pidNamespace(), i.userNamespace(), "time:[1]", i.pid(), i.startTicks(), i.uid(),
                true)))
        .contains("time namespace");
  }

  @Test
  void aNumberThatIsUsedAgainIsAnotherProcess() {
    assertThat(
        reason(
            i -> new ProcessIdentity(
                i.bootId(), i.pidNamespace(), i.userNamespace(), i.timeNamespace(), i.pid(),
                i.startTicks() + 1, i.uid(), true)))
        .contains("belongs to another process now");
    assertThat(
        reason(
            i -> new ProcessIdentity(
                i.bootId(), i.pidNamespace(), i.userNamespace(), i.timeNamespace(), 0x3fff_ffff,
                i.startTicks(), i.uid(), true)))
        .contains("has ended");
    byte[] wrong =
        description(
            new ProcessIdentity(
                identity(transport).bootId(),
                identity(transport).pidNamespace(),
                identity(transport).userNamespace(),
                identity(transport).timeNamespace(),
                identity(transport).pid(),
                1,
                0,
                true));
    assertThatThrownBy(() -> transport.initiate(route(), "peer", KEY, wrong))
        .isInstanceOf(PathSetupException.class)
        .hasMessageContaining("another process");
  }

  @Test
  void damagedDescriptionsAreRefusedWithTheReason() {
    byte[] good = transport.description();
    for (int length = 0; length < good.length; length++) {
      assertThat(transport.reach(Arrays.copyOf(good, length)))
          .isInstanceOfSatisfying(
              Reachability.Unreachable.class, unreachable -> assertThat(unreachable.reason()).isNotEmpty());
    }
    good[0] = 9;
    assertThat(transport.reach(good))
        .isInstanceOfSatisfying(
            Reachability.Unreachable.class, unreachable -> assertThat(unreachable.reason()).contains("version 9"));
  }

  @Test
  void damagedOffersAndAnswersAreRefused() throws IOException {
    int before = descriptors();
    PathSetup offer = transport.initiate(route(), "peer", KEY, transport.description());
    byte[] good = offer.message();
    for (int length = 0; length < good.length; length += 3) {
      byte[] shorter = Arrays.copyOf(good, length);
      assertThatThrownBy(() -> transport.accept("shm", "peer", KEY, shorter)).isInstanceOf(PathSetupException.class);
    }
    PathOffer real = PathOffer.decode(good);
    // A descriptor that is open, but another file; one that is not open; another nonce.
    List<PathOffer> lies =
        List.of(
            new PathOffer(real.identity(), 0, real.bellFd(), real.nonceHigh(), real.nonceLow()),
            new PathOffer(real.identity(), 99_999, real.bellFd(), real.nonceHigh(), real.nonceLow()),
            new PathOffer(real.identity(), real.segmentFd(), 99_999, real.nonceHigh(), real.nonceLow()),
            new PathOffer(real.identity(), real.segmentFd(), real.bellFd(), real.nonceHigh() + 1, real.nonceLow()));
    for (PathOffer lie : lies) {
      assertThatThrownBy(() -> transport.accept("shm", "peer", KEY, lie.encode()))
          .isInstanceOf(PathSetupException.class)
          .hasMessageContaining("process " + real.identity().pid());
    }
    int[] sockets = Sockets.pair();
    byte[] cut = Arrays.copyOf(transport.description(), 20);
    assertThatThrownBy(() -> offer.connect(cut, new TestStream(sockets[0])))
        .isInstanceOf(PathSetupException.class)
        .hasMessageContaining("cut off");
    Sockets.close(sockets[1]);
    assertThat(descriptors()).as("nothing is left open").isEqualTo(before);
  }

  @Test
  void aWrongAnswerIsNoticedByTheProbe() {
    PathSetup offer = transport.initiate(route(), "peer", KEY, transport.description());
    PathSetup answer = transport.accept("shm", "peer", KEY, offer.message());
    PathAnswer real = PathAnswer.decode(answer.message());
    int[] sockets = Sockets.pair();
    PathAnswer lie = new PathAnswer(real.identity(), real.bellFd(), real.probeAddress(), real.probeValue() + 1, true);
    assertThatThrownBy(() -> offer.connect(lie.encode(), new TestStream(sockets[0])))
        .isInstanceOf(PathSetupException.class)
        .hasMessageContaining("is not the target");
    answer.close();
    Sockets.close(sockets[1]);
  }

  @Test
  void aProbeThatTheKernelRefusesIsExplained() {
    PathSetup offer = transport.initiate(route(), "peer", KEY, transport.description());
    PathSetup answer = transport.accept("shm", "peer", KEY, offer.message());
    PathAnswer real = PathAnswer.decode(answer.message());
    int[] sockets = Sockets.pair();
    PathAnswer nowhere = new PathAnswer(real.identity(), real.bellFd(), 8, real.probeValue(), true);
    assertThatThrownBy(() -> offer.connect(nowhere.encode(), new TestStream(sockets[0])))
        .isInstanceOf(PathSetupException.class)
        .hasMessageContaining("EFAULT")
        .hasMessageContaining("shm.kernel-copy");
    answer.close();
    Sockets.close(sockets[1]);
  }

  @Test
  void givingUpReleasesEverything() throws IOException {
    transport.initiate(route(), "peer", KEY, transport.description()).close();
    int before = descriptors();
    PathSetup offer = transport.initiate(route(), "peer", KEY, transport.description());
    PathSetup answer = transport.accept("shm", "peer", KEY, offer.message());
    answer.close();
    offer.close();
    assertThat(descriptors()).isEqualTo(before);
  }

  @Test
  void aTargetWhoseInitiatorGaveUpLetsGo() {
    PathSetup offer = transport.initiate(route(), "peer", KEY, transport.description());
    PathSetup answer = transport.accept("shm", "peer", KEY, offer.message());
    int[] sockets = Sockets.pair();
    TargetConnection target = (TargetConnection) answer.connect(offer.message(), new TestStream(sockets[1]));
    offer.close();
    Recorder events = new Recorder();
    target.poll(events);
    assertThat(events.faults).hasSize(1);
    target.abort();
    target.poll(events);
    assertThat(target.drained()).isTrue();
    target.close();
    Sockets.close(sockets[0]);
  }

  @Test
  void whyAProcessMayNotBeReached(@TempDir Path root) throws IOException {
    // A /proc of our own, in which process 7 asks for process 8, whose links may not be read.
    proc(root, 7, "pid:[1]", "user:[1]", 100);
    Files.createSymbolicLink(root.resolve("self"), Path.of("7"));
    Files.createDirectories(root.resolve("sys/kernel/random"));
    Files.writeString(root.resolve("sys/kernel/random/boot_id"), "boot\n");
    proc(root, 8, "pid:[1]", "user:[1]", 200);
    Host host = Host.probe(root, 7, true);
    ProcessIdentity peer = new ProcessIdentity("boot", "pid:[1]", "user:[1]", "", 8, 200, 0, true);
    assertThat(host.obstacle(peer)).isEmpty();
    Files.delete(root.resolve("8/ns/pid"));
    assertThat(host.obstacle(peer)).contains("has ended");
    Files.delete(root.resolve("8/stat"));
    assertThat(host.obstacle(peer)).contains("has ended");
    Files.writeString(root.resolve("8/stat"), "8 (a) b) c");
    assertThat(host.obstacle(peer)).contains("cannot be looked at");

    Files.delete(root.resolve("self"));
    Files.createSymbolicLink(root.resolve("self"), Path.of("70"));
    assertThatThrownBy(() -> Host.probe(root, 7, true))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("another pid namespace");
  }

  private static void proc(Path root, int pid, String pidNamespace, String userNamespace, long start)
      throws IOException {
    Path directory = root.resolve(Integer.toString(pid));
    Files.createDirectories(directory.resolve("ns"));
    Files.createSymbolicLink(directory.resolve("ns/pid"), Path.of(pidNamespace));
    Files.createSymbolicLink(directory.resolve("ns/user"), Path.of(userNamespace));
    Files.writeString(directory.resolve("stat"), pid + " (a (b) c) S" + " 0".repeat(18) + " " + start + " 0 0\n");
  }

  @Test
  void refusedCopiesNameTheSetting(@TempDir Path root) throws IOException {
    ProcFiles proc = new ProcFiles(root);
    Path scope = Files.createDirectories(root.resolve("sys/kernel/yama")).resolve("ptrace_scope");
    assertThat(KernelCopy.explain(Errno.EPERM, 8, proc)).contains("same user").contains("CAP_SYS_PTRACE");
    Files.writeString(scope, "1\n");
    assertThat(KernelCopy.explain(Errno.EPERM, 8, proc)).contains("ptrace_scope is 1").contains("shm.allow-ptrace");
    Files.writeString(scope, "2\n");
    assertThat(KernelCopy.explain(Errno.EPERM, 8, proc)).contains("ptrace_scope is 2").contains("SYS_PTRACE");
    Files.writeString(scope, "3\n");
    assertThat(KernelCopy.explain(Errno.EPERM, 8, proc)).contains("reboot");
    assertThat(KernelCopy.explain(Errno.ESRCH, 8, proc)).contains("process 8").contains("ended");
    assertThat(KernelCopy.explain(Errno.EFAULT, 8, proc)).contains("registered memory is gone");
    assertThat(KernelCopy.explain(Errno.ENOSYS, 8, proc)).contains("CONFIG_CROSS_MEMORY_ATTACH");
  }

  @Test
  void settingsAreTrueOrFalse() {
    TransportContext context =
        new TransportContext(registry, "test", 1, List.of("127.0.0.1"), Map.of("kernel-copy", "banana"));
    assertThat(new ShmTransportProvider().create(context))
        .isInstanceOfSatisfying(
            TransportProvider.Outcome.Absent.class,
            absent -> assertThat(absent.reason()).contains("shm.kernel-copy").contains("banana")
                .contains("true or false"));
  }

  @Test
  void theKeySaysHowMemoryIsMoved() {
    registry.addBinder(transport.binder());
    Region mapped = registry.allocate(4096, Access.REMOTE_READ);
    Region foreign =
        registry.register(Arena.ofAuto().allocate(64), Access.REMOTE_READ);
    assertThat(mapped.remoteKeys().getFirst().bytes()).containsExactly(1, 1);
    assertThat(foreign.remoteKeys().getFirst().bytes()).containsExactly(1, 2);
  }

  /** By requests that are moved at once, and by those that wait in the queue. */
  @ParameterizedTest
  @CsvSource({"WRITE, 8192, true", "WRITE, 262144, true", "READ, 8192, true", "READ, 262144, true",
      "WRITE, 262144, false",
      "READ, 8192, false"})
  void memoryThatIsGoneEndsItsRequestAlone(Op op, int length, boolean there) {
    try (PathRig rig = new PathRig()) {
      // Pages that nobody may touch stand for those that were freed: nothing else comes to lie there.
      long freed = PageMappings.map(length, 0, PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, -1, 0);
      Region here = there
          ? PathRig.mapped(rig.here, length, Access.LOCAL)
          : rig.here.register(freed, length, Access.LOCAL);
      Region foreign = rig.there.register(Arena.global().allocate(length), Access.REMOTE_READ_WRITE);
      Region gone = there ? rig.there.register(freed, length, Access.REMOTE_READ_WRITE) : foreign;

      rig.post(1, op, PathRig.plan(here, 0, gone, 0, length));
      rig.pump();
      rig.post(2, op, PathRig.plan(PathRig.mapped(rig.here, length, Access.LOCAL), 0, foreign, 0, length));
      rig.pump();

      assertThat(rig.atInitiator.faults).isEmpty();
      assertThat(rig.atInitiator.statusOf(1))
          .isEqualTo(there ? WorkStatus.REMOTE_UNMAPPED : WorkStatus.LOCAL_UNMAPPED);
      assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
    }
  }

  private static int descriptors() throws IOException {
    return Objects.requireNonNull(new File("/proc/self/fd").list()).length;
  }

  private Reachability.Route route() {
    return new Reachability.Route(transport.rails().getFirst(), "shm");
  }
}
