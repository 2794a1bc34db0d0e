/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Priority;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.engine.testkit.SteppedOwner;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a transfer says of its paths that is not through at its deadline, and when one that was cancelled has ended. */
class OutboundLinkTimesTest {
  private static final long MILLISECOND = 1_000_000;
  private static final int MIB = 1 << 20;
  private static final Duration DEADLINE = Duration.ofSeconds(1);

  private final Host host = new Host();
  private final OutboundLink link =
      new OutboundLink(host, LinkSettings.defaults(), new RailShares(), "here", 3,
          new PeerDescription("there", 7, List.of("192.0.2.1:1"), Map.of()),
          List.of(new Tier("sim", new TransportTraits(false, false, 8192, 64, MIB, 1, 0), new byte[0],
              List.of(route("left"), route("right")), 1),
              new Tier("other", new TransportTraits(false, false, 8192, 64, MIB, 1, 0), new byte[0],
                  List.of(route("nowhere")), 1)),
          Map.of());
  private long postedAt;

  private static Reachability.Route route(String rail) {
    return new Reachability.Route(new Rail("sim", rail, 0, 0), rail);
  }

  private void workFor(long milliseconds) {
    for (int i = 0; i < milliseconds; i++) {
      host.now += MILLISECOND;
      link.doWork();
    }
  }

  private TransferState post() {
    TransferState transfer = post(1, Priority.BULK);
    postedAt = host.now;
    return transfer;
  }

  /** The same MiB, so many times over. */
  private TransferState post(int times, Priority priority) {
    return post(times, priority, remoteRegion());
  }

  private TransferState post(int times, Priority priority, RemoteRegion there) {
    TransferState transfer = (TransferState) link.prepare(DataRequest.Op.WRITE,
        new TransferPlan(
            BlockPairs.of(BlockList.strided(MIB, 0, MIB, times), BlockList.strided(MIB, 0, MIB, times)), new Region[0],
            new RemoteRegion[] {there}));
    transfer.timeout(DEADLINE).priority(priority).requestId("layer 7");
    transfer.post();
    return transfer;
  }

  private static RemoteRegion remoteRegion() {
    return new RemoteRegion(5, MIB, MIB, Device.HOST, Access.REMOTE_READ_WRITE, Map.of("sim", new byte[] {1}));
  }

  /** It ends at its deadline, not before, by the test's clock. */
  private String failureOf(TransferState transfer) {
    workFor(DEADLINE.toMillis() - (host.now - postedAt) / MILLISECOND - 1);
    assertThat(transfer.end()).as("before its deadline").isNull();
    workFor(1 + LinkSettings.defaults().drainNanos() / MILLISECOND);
    TransferEnd end = transfer.end();
    if (!(end instanceof TransferEnd.Failed failed)) {
      throw new AssertionError("it ended " + end);
    }
    assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.DEADLINE_EXCEEDED);
    assertThat(failed.notified()).isEqualTo(TransferEnd.Notified.NO);
    assertThat(failed.message()).contains("layer 7");
    return failed.message();
  }

  private void up() {
    workFor(4);
    assertThat(link.state()).isEqualTo(Link.State.UP);
    assertThat(host.paths).containsOnlyKeys("left", "right");
  }

  private void breakBoth() {
    host.unreachable = true;
    host.path("left").breaks("left cable pulled");
    host.path("right").breaks("right port down");
    workFor(1);
    assertThat(link.paths()).as("nothing is up any more").noneMatch(Link.PathReport::up);
  }

  @Test
  void whatCannotBeSetIsToldWithTheCure() {
    TransferState transfer = post();
    transfer.cancel();
    workFor(LinkSettings.defaults().drainNanos() / MILLISECOND);
    assertThat(transfer.end()).isNotNull();

    assertThatThrownBy(() -> transfer.timeout(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class)
        .hasMessage("timeout: PT0S leaves no time; give a positive one");
    assertThatThrownBy(() -> transfer.requestId("x".repeat(65))).isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a request id has at most 64 bytes, this one has 65; shorten it");
  }

  @Test
  void allPathsBreakUnderIt() {
    up();
    TransferState transfer = post();
    workFor(1);
    host.path("left").acknowledge(1);
    breakBoth();

    String message = failureOf(transfer);

    assertThat(message).containsPattern("[1-9][0-9]* of 1048576 bytes were acknowledged at the deadline")
        .contains("path 1 (sim:left → left): UNREACHABLE: no way by left",
            "path 2 (sim:right → right): UNREACHABLE: no way by right");
  }

  @Test
  void noPathIsUpWhenItIsPosted() {
    up();
    breakBoth();

    String message = failureOf(post());

    assertThat(message).contains("was not begun in time: no path to there is up",
        "path 1 (sim:left → left): UNREACHABLE: no way by left",
        "path 2 (sim:right → right): UNREACHABLE: no way by right");
  }

  /** One rail does what it should; on the other the peer's kernel answers, and nothing else. */
  @Test
  void thePeerStallsOnOneOfThem() {
    up();
    TransferState transfer = post();
    workFor(1);
    Path left = host.path("left");
    Path right = host.path("right");
    assertThat(right.bytes()).as("bytes under way on the path that will stall").isPositive();
    long stuck = right.bytes();
    while (left.bytes() > 0) {
      left.acknowledge(1);
      workFor(1);
    }

    String message = failureOf(transfer);

    assertThat(message).contains("bytes were acknowledged at the deadline")
        .containsPattern("path 2 \\(sim:right → right\\): peer stalled, " + stuck
            + " bytes under way, nothing came for (9[0-9]{2}|10[0-9]{2}) ms")
        .doesNotContain("path 1");
  }

  /** What is stuck is given its time, and the flush behind that is over within it, too. */
  @Test
  void aCancelHasEndedWithinTheDrainTime() {
    up();
    TransferState transfer = post();
    workFor(1);
    assertThat(host.path("left").bytes()).as("stuck").isPositive();
    long drain = LinkSettings.defaults().drainNanos() / MILLISECOND;

    transfer.cancel();
    workFor(drain / 2);
    assertThat(transfer.end()).as("what is under way may still arrive").isNull();
    assertThat(link.paths()).as("no path is given up for it yet").allMatch(Link.PathReport::up);
    workFor(drain / 2);

    assertThat(transfer.end()).isEqualTo(new TransferEnd.Cancelled());
  }

  /** Only the read of its grant's generation is under way: that is taken back, too, and no path is given up for it. */
  @Test
  void aReadThatIsCancelledBehindItsDataWaitsForNobody() {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      host.scratch = registry.allocate(4096, Access.REMOTE_READ_WRITE);
      up();
      RemoteRegion there = remoteRegion();
      TransferState read = (TransferState) link.prepare(DataRequest.Op.READ,
          new TransferPlan(BlockPairs.of(BlockList.of(MIB, 8), BlockList.of(MIB, 8)), new Region[0],
              new RemoteRegion[] {there}));
      read.grant(new GrantCheck(there, MIB, 7)).post();
      workFor(1);
      host.paths.values().forEach(path -> path.acknowledge(1));
      workFor(1);
      assertThat(read.acknowledgedBytes()).isEqualTo(8);
      assertThat(host.paths.values()).as("the generation is asked for").anyMatch(path -> path.bytes() == 8);

      host.paths.values().forEach(path -> path.takesBack = true);
      read.cancel();
      workFor(2);

      assertThat(read.end()).isEqualTo(new TransferEnd.Cancelled());
      assertThat(link.paths()).allMatch(Link.PathReport::up);
    }
  }

  /** What never ends fills its paths again and again: who is urgent does not wait for that before each of its chunks. */
  @Test
  void anUrgentOneWaitsOnceBesideOneThatNeverEnds() {
    long queue = queueOfOneThatNeverEnds();

    TransferState urgent = post(1, Priority.LATENCY);
    carry((int) (queue / MIB) + 3);

    assertThat(urgent.acknowledgedBytes()).isEqualTo(MIB);
  }

  /** It takes turns with the other, a chunk each, and does not wait for all that is there before each of its own. */
  @Test
  void oneOfSomeMebibytesTakesTurnsWithOneThatNeverEnds() {
    long queue = queueOfOneThatNeverEnds();

    TransferState some = post(4, Priority.BULK);
    carry((int) (queue / MIB) + 20);

    assertThat(some.acknowledgedBytes()).isEqualTo(4 * MIB);
  }

  /** What waits for paths of its own takes no place on these: half of what is left here is still not bound to a path. */
  @Test
  void muchThatHasNoPathLetsNobodyPostAllOfIt() {
    up();
    TransferState waits = post(1 << 12, Priority.BULK,
        new RemoteRegion(6, MIB, MIB, Device.HOST, Access.REMOTE_READ_WRITE, Map.of("other", new byte[] {1})));
    workFor(2);
    TransferState some = post(4, Priority.BULK);
    workFor(2);

    assertThat(waits.claimed).isZero();
    assertThat(some.claimed).isPositive().isLessThan(4 * MIB);
  }

  /** Bytes that are under way on each of two paths. */
  private long queueOfOneThatNeverEnds() {
    up();
    post(1 << 12, Priority.BULK);
    carry(40);
    long queue = host.path("left").bytes();
    assertThat(queue).as("there is a queue").isGreaterThan(3 * MIB);
    return queue;
  }

  /** So many times each path carries 1 MiB in 4 ms. */
  private void carry(int times) {
    for (int i = 0; i < times; i++) {
      workFor(3);
      host.paths.values().forEach(Path::acknowledgeMebibyte);
      workFor(1);
    }
  }

  private static final class Path extends IdleConnection {
    private final List<Long> posted = new ArrayList<>();
    private final List<Long> lengths = new ArrayList<>();
    private final List<PathFault> faults = new ArrayList<>();
    private int due;
    private boolean takesBack;
    private boolean takenBack;
    private long came;
    private long signs;

    Path(PathKey key) {
      super(key);
    }

    long bytes() {
      return lengths.stream().mapToLong(Long::longValue).sum();
    }

    void acknowledge(int chunks) {
      due = chunks;
    }

    void acknowledgeMebibyte() {
      due = 0;
      for (long bytes = 0; bytes < MIB && due < lengths.size(); due++) {
        bytes += lengths.get(due);
      }
    }

    void breaks(String why) {
      faults.add(new PathFault(PathFault.Kind.RESET, why));
    }

    @Override
    public int segmentBudget() {
      return 64;
    }

    @Override
    public int maxSegments() {
      return 64;
    }

    @Override
    public boolean postData(long workId, DataRequest request) {
      posted.add(workId);
      lengths.add(request.length());
      return true;
    }

    @Override
    public boolean postMessage(long workId, ByteBuffer message) {
      return true;
    }

    @Override
    public int poll(ConnectionEvents events) {
      int work = faults.size();
      List<PathFault> come = List.copyOf(faults);
      faults.clear();
      for (due = takenBack ? posted.size() : due; due > 0 && !posted.isEmpty(); due--) {
        lengths.removeFirst();
        came++;
        work++;
        events.completed(this, posted.removeFirst(), takenBack ? WorkStatus.WITHDRAWN : WorkStatus.SUCCESS, 0);
      }
      come.forEach(fault -> events.failed(this, fault));
      return work;
    }

    @Override
    public void withdraw(long transfer) {
      takenBack = takesBack;
    }

    @Override
    public long progress() {
      return came;
    }

    @Override
    public long signsOfLife() {
      return ++signs;
    }
  }

  private static final class Host extends SteppedOwner {
    boolean unreachable;
    @Nullable
    Region scratch;
    final Map<String, Path> paths = new TreeMap<>();

    @Override
    public Region scratch() {
      return Objects.requireNonNull(scratch);
    }

    Path path(String rail) {
      return Objects.requireNonNull(paths.get(rail), rail);
    }

    @Override
    public PathOpener opener() {
      return (request, callback) -> {
        String rail = request.rail().name();
        if (unreachable || rail.equals("nowhere")) {
          callback.accept(new OpenResult.Failed(new PathFault(PathFault.Kind.UNREACHABLE, "no way by " + rail)));
          return;
        }
        Path path = new Path(request.hello().key());
        paths.put(rail, path);
        callback.accept(new OpenResult.Opened(path, new Welcome(7, 4, 3000, 1024, 0)));
      };
    }
  }
}
