/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.mapped.Mover;
import dev.hawser.engine.mapped.PathEnds;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.mapped.PeerRegions;
import dev.hawser.engine.mapped.RequestJudge;
import dev.hawser.engine.mapped.Verdict;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.Region;
import dev.hawser.memory.gpu.DriverGate;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuCopyPlan;
import dev.hawser.memory.gpu.GpuMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Lets GPUs move the bytes: a slice of a request becomes one batch on the stream of each device that it concerns, with a
 * mark behind it. The device is that of the memory here, else that of the memory there; between hosts the processor copies.
 */
final class GpuMover implements Mover {
  /** Slices that may be under way. */
  static final int DEPTH = 16;

  /** The most segments of a slice: so that the device begins with the first while tables are written for the next. */
  private static final int MAX_SEGMENTS = 12 << 10;

  /** Their tables are written in no time. */
  private static final int FEW_SEGMENTS = 2048;

  private static final long HOST_BYTES = 4 << 20;

  /** The most bytes of host memory that is not pinned in one go. */
  private static final long DRIVER_BYTES = 8 << 20;

  private static final Duration DRIVER_DEADLINE = Duration.ofMinutes(2);

  private final GpuIpc gpus;
  private final int binderIndex;
  private final PathEnds ends;
  private final long startTicks;
  private final PeerRegions regions;
  private final RequestJudge judge;
  private final Runnable wake;
  private final SegmentCursor cursor = new SegmentCursor();
  private final AtomicInteger version = new AtomicInteger();

  private final GpuLanes lanes;
  private final Underway underway = new Underway(DEPTH);

  private final KeptCopies kept = new KeptCopies();
  private CompletableFuture<Boolean> growing = CompletableFuture.completedFuture(true);

  private boolean starting;

  // What is being given back, in the background: a driver may block while its device works, or hangs.
  private CompletableFuture<?> giving = CompletableFuture.completedFuture(null);

  // What was found out about the plan that was judged last.
  private @Nullable TransferPlan readyPlan;
  private int readyVersion;

  // The regions met last.
  private @Nullable RemoteRegion lastRemote;
  private int lastOrdinal;
  private PeerReach.@Nullable Opened lastReach;
  private @Nullable Region lastLocal;
  private boolean lastLocalKernels;

  private @Nullable PathFault fault;
  private boolean ending;

  /**
   * A mover.
   *
   * @param startTicks when the peer's process began
   * @param wake wakes the path's owner, from any thread
   */
  GpuMover(GpuIpc gpus, int binderIndex, PathEnds ends, long startTicks, PeerRegions regions, Runnable wake) {
    this.gpus = gpus;
    this.binderIndex = binderIndex;
    this.ends = ends;
    this.startTicks = startTicks;
    this.regions = regions;
    this.wake = wake;
    this.judge = new RequestJudge(regions, GpuMover::isUsable);
    this.lanes = new GpuLanes(gpus, this::settled);
  }

  /** How a region of the peer is reached: by the processor or the device where it lies (0), or by one of ours (ordinal + 1). */
  private static final class Reaches {
    private final List<@Nullable PeerReach> byOrdinal = new ArrayList<>();

    @Nullable
    PeerReach get(int index) {
      return index < byOrdinal.size() ? byOrdinal.get(index) : null;
    }

    void set(int index, PeerReach reach) {
      while (byOrdinal.size() <= index) {
        byOrdinal.add(null);
      }
      byOrdinal.set(index, reach);
    }

    boolean isOpening() {
      for (int i = 0; i < byOrdinal.size(); i++) {
        PeerReach reach = byOrdinal.get(i);
        if (reach != null && reach.isOpening()) {
          return true;
        }
      }
      return false;
    }

    void release() {
      for (PeerReach reach : byOrdinal) {
        if (reach != null) {
          reach.release();
        }
      }
    }
  }

  private static boolean isUsable(Region local) {
    return local.device().isHost() || local.device().kind() == GpuIpcTransport.KIND;
  }

  private void settled() {
    version.incrementAndGet();
    wake.run();
  }

  // ------------------------------------------------------------------------------------------ judging

  @Override
  public int version() {
    return version.get();
  }

  @Override
  public boolean movesAtOnce(TransferPlan plan, long bytes) {
    return false;
  }

  @Override
  public boolean isCostly(TransferPlan plan, long position, long length) {
    return plan.pairs().size() > FEW_SEGMENTS && kept.find(plan, position, length) == null;
  }

  /** The thread may be the caller's, who gets it back in between. */
  @Override
  public int movesPerPoll() {
    return 1;
  }

  @Override
  public long sliceBytes() {
    return Long.MAX_VALUE;
  }

  @Override
  public Verdict judge(Op op, TransferPlan plan, long position, long length) {
    int now = version.get();
    Verdict verdict = judge.judge(op, plan, position, length);
    if (verdict != Verdict.READY || (readyPlan == plan && readyVersion == regions.version() + now)) {
      return verdict;
    }
    lastRemote = null;
    lastLocal = null;
    readyPlan = null;
    if (!isReady(plan)) {
      return Verdict.WAITING;
    }
    readyPlan = plan;
    readyVersion = regions.version() + now;
    return verdict;
  }

  /** Whether all that a plan needs is open, pinned and made; begins what is missing. What fails is found by {@link #move}. */
  private boolean isReady(TransferPlan plan) {
    boolean devices = needsDevices(plan);
    if (devices && !isStarted()) {
      return fault != null; // move() tells
    }
    boolean ready = true;
    int met = Integer.MIN_VALUE;
    for (int i = 0; i < plan.localRegions(); i++) {
      Region local = plan.localRegion(i);
      int ordinal = ordinal(local);
      ready &= ordinal < 0 || lanes.isMade(ordinal);
      if (ordinal != met) {
        met = ordinal;
        ready &= isRemoteReady(plan, ordinal);
      }
    }
    for (int i = 0; i < plan.localRegions() && devices && fault == null; i++) {
      ready &= isLocalReady(plan.localRegion(i));
    }
    return ready || fault != null;
  }

  private boolean needsDevices(TransferPlan plan) {
    for (int i = 0; i < plan.localRegions(); i++) {
      if (!plan.localRegion(i).device().isHost()) {
        return true;
      }
    }
    for (int i = 0; i < plan.remoteRegions(); i++) {
      PeerRegion region = regions.get(plan.remoteRegion(i).id());
      if (region.isLent() && region.mapping() == null) {
        return true;
      }
    }
    return false;
  }

  /** Whether the driver is there; starts it. */
  private boolean isStarted() {
    CompletableFuture<GpuMemory> start = gpus.start();
    if (!start.isDone()) {
      if (!starting) {
        starting = true;
        CompletableFuture<GpuMemory> _ = start.whenComplete((_, _) -> settled());
      }
      return false;
    }
    if (start.isCompletedExceptionally()) {
      fault =
          new PathFault(
              PathFault.Kind.UNREACHABLE, "no GPU can move it: " + String.valueOf(start.exceptionNow().getMessage()));
      return false;
    }
    return true;
  }

  /** Whether a device reaches all that a plan needs of the peer; −1 for the devices where that lies. */
  private boolean isRemoteReady(TransferPlan plan, int ordinal) {
    boolean ready = true;
    for (int i = 0; i < plan.remoteRegions() && fault == null; i++) {
      RemoteRegion published = plan.remoteRegion(i);
      PeerRegion region = regions.get(published.id());
      PeerReach reach = region.isLent() ? reach(region, published, ordinal) : null;
      if (reach != null && reach.isOpening()) {
        ready = false;
      } else if (reach != null && reach.failure() == null && ordinal < 0 && reach.opened().home() >= 0) {
        ready &= lanes.isMade(reach.opened().home());
      }
    }
    return ready;
  }

  private static int ordinal(Region local) {
    return local.device().isHost() ? -1 : local.device().ordinal();
  }

  private boolean isLocalReady(Region local) {
    if (local.binding(binderIndex) instanceof LocalHost host) {
      CompletableFuture<HostReach> reach = host.reach(gpus);
      if (!reach.isDone()) {
        CompletableFuture<HostReach> _ = reach.whenComplete((_, _) -> settled());
        return reach.isDone();
      }
    }
    return true;
  }

  /** The reach of a region that is lent; begins to open it. Null if it cannot be opened, see {@link #fault}. */
  private @Nullable PeerReach reach(PeerRegion region, RemoteRegion published, int ordinal) {
    Reaches reaches;
    if (region.attachment() instanceof Reaches known) {
      reaches = known;
    } else {
      reaches = new Reaches();
      region.attach(reaches);
    }
    int index = ordinal + 1;
    PeerReach known = reaches.get(index);
    if (known != null) {
      return known;
    }
    try {
      PeerReach reach = PeerReach.open(gpus, ends.peer(), startTicks, region, published, ordinal);
      reaches.set(index, reach);
      if (reach.isOpening()) {
        reach.whenSettled(this::settled);
      }
      return reach;
    } catch (PathSetupException e) {
      fault = new PathFault(PathFault.Kind.UNREACHABLE, String.valueOf(e.getMessage()));
      return null;
    }
  }

  // ------------------------------------------------------------------------------------------ moving

  @Override
  public long move(Op op, TransferPlan plan, long position, long length) {
    if (length == 0) {
      return 0;
    }
    if (fault != null) {
      return -1;
    }
    DriverGate gate = gpus.gate();
    if (gate != null && !gate.tryPass()) {
      return 0;
    }
    try {
      underway.look();
      if (underway.isFull()) {
        return 0;
      }
      KeptCopies.Kept known = kept.find(plan, position, length);
      return known != null ? again(op == Op.WRITE, known) : slice(op == Op.WRITE, plan, position, length);
    } catch (DriverException e) {
      failed(e);
      return -1;
    } catch (InternalError e) {
      // How the JVM reports SIGBUS.
      fault =
          new PathFault(
              PathFault.Kind.WORK_ERROR,
              "registered memory is not there any more: a file behind it was truncated, here or in " + ends.peer());
      return -1;
    } finally {
      if (gate != null) {
        gate.passed();
      }
    }
  }

  /** Makes a copy again that was made before. */
  private long again(boolean write, KeptCopies.Kept known) {
    Gpu gpu = known.lane.gpu();
    long before = gpu.enter();
    try {
      GpuStrand strand = known.strand();
      strand.ops().copy(known.copy, direction(write), 0, 0);
      long _ = began(strand);
    } finally {
      gpu.leave(before);
    }
    return known.copy.totalBytes();
  }

  private long began(GpuStrand strand) {
    long mark = strand.progress().mark();
    underway.began(strand.progress(), mark);
    return mark;
  }

  private static CopyDirection direction(boolean write) {
    return write ? CopyDirection.LOCAL_TO_REMOTE : CopyDirection.REMOTE_TO_LOCAL;
  }

  @SuppressWarnings("ReferenceEquality") // the very object that was met last
  private long slice(boolean write, TransferPlan plan, long position, long length) {
    cursor.start(plan, position, length);
    GpuLane lane = null;
    GpuStrand strand = null;
    long moved = 0;
    long byHost = 0;
    int segments = 0;
    for (; segments < MAX_SEGMENTS && byHost < HOST_BYTES && cursor.next(); segments++) {
      Region local = cursor.localRegion();
      int ordinal = ordinal(local);
      PeerReach.Opened there = meet(cursor.remoteRegion(), ordinal);
      if (there == null) {
        return -1;
      }
      long here = cursor.localAddress();
      long remote = cursor.remoteAddress() + there.delta();
      long bytes = cursor.length();
      int by = ordinal < 0 ? there.home() : ordinal;
      if (by < 0) {
        if (strand != null) {
          break; // its slice ends here, so that one event stands for it
        }
        HostDeviceOps.INSTANCE.copy(write ? here : remote, write ? remote : here, bytes);
        byHost += bytes;
      } else {
        if (local != lastLocal) {
          lastLocal = local;
          lastLocalKernels = kernelsReach(local);
        }
        if (strand == null && byHost == 0) {
          lane = lanes.lane(by);
          if (lane == null) {
            fault = new PathFault(PathFault.Kind.WORK_ERROR, lanes.whyNot(by));
            return -1;
          }
          if (!lastLocalKernels || !there.kernels()) {
            return byDriver(lane, write ? here : remote, write ? remote : here, Math.min(bytes, DRIVER_BYTES));
          }
          strand = lane.next();
          if (!strand.ops().hasRoom()) {
            return 0;
          }
          strand.ops().begin(direction(write), ordinal < 0 || there.home() < 0);
          strand.ops().keep();
        } else if (strand == null || lane == null || lane.gpu().ordinal() != by || !lastLocalKernels
            || !there.kernels()) {
          break;
        }
        strand.ops().add(here, remote, bytes);
      }
      moved += bytes;
    }
    if (lane != null && strand != null) {
      GpuCopyPlan copy = strand.ops().submit();
      long mark = began(strand);
      if (copy != null) {
        kept.keep(plan, position, lane, strand, mark, copy);
      } else if (lane.gpu().isShortOfTables()) {
        moreTables(lane.gpu());
      }
    }
    return moved;
  }

  /** Without them copies go on, each with its own table. */
  private void moreTables(Gpu gpu) {
    if (growing.isDone()) {
      growing =
          gpus.inBackground(
              () -> {
                gpu.growTables();
                return true;
              });
    }
  }

  /**
   * Lets the driver copy from or to host memory that is not pinned. It does so on the calling thread, and waits for the device:
   * not on this one.
   */
  private long byDriver(GpuLane lane, long from, long to, long bytes) {
    underway.began(
        gpus.inBackground(
            () -> {
              lane.blocking().copy(from, to, bytes);
              lane.blocking().await(DRIVER_DEADLINE);
              return true;
            }));
    return bytes;
  }

  @SuppressWarnings("ReferenceEquality") // the very object that was met last
  private PeerReach.@Nullable Opened meet(RemoteRegion remote, int ordinal) {
    PeerReach.Opened known = lastReach;
    if (remote == lastRemote && ordinal == lastOrdinal && known != null) {
      return known;
    }
    PeerReach reach = reach(regions.get(remote.id()), remote, ordinal);
    if (reach == null) {
      return null;
    }
    Throwable failure = reach.failure();
    if (failure != null) {
      fault =
          new PathFault(
              PathFault.Kind.WORK_ERROR, "memory of " + ends.peer() + " cannot be opened: " + failure.getMessage());
      return null;
    }
    lastRemote = remote;
    lastOrdinal = ordinal;
    lastReach = reach.opened();
    return lastReach;
  }

  private boolean kernelsReach(Region local) {
    if (!local.device().isHost()) {
      return true;
    }
    if (local.binding(binderIndex) instanceof LocalHost host) {
      CompletableFuture<HostReach> reach = host.reach(gpus);
      return reach.isDone() && !reach.isCompletedExceptionally() && reach.resultNow().kernels();
    }
    return false;
  }

  private void failed(DriverException e) {
    if (e.sticky()) {
      lanes.lost();
    }
    fault = new PathFault(PathFault.Kind.WORK_ERROR, String.valueOf(e.getMessage()));
  }

  // ------------------------------------------------------------------------------------------ ending

  @Override
  public long begun() {
    return underway.begun();
  }

  @Override
  public boolean isDone(long number) {
    if (number <= underway.done()) {
      return true;
    }
    try {
      underway.look();
    } catch (DriverException e) {
      failed(e);
    }
    return number <= underway.done();
  }

  /** A lost device does nothing any more. */
  @Override
  public boolean isIdle() {
    return giving.isDone()
        && areLanesIdle()
        && !underway.isAnyTask()
        && !regions.isAny(region -> region.attachment() instanceof Reaches reaches && reaches.isOpening());
  }

  private boolean areLanesIdle() {
    DriverGate gate = gpus.gate();
    if (gate == null) {
      return lanes.isIdle();
    }
    if (!gate.tryPass()) {
      return false;
    }
    try {
      return lanes.isIdle();
    } finally {
      gate.passed();
    }
  }

  @Override
  public @Nullable PathFault fault() {
    PathFault found = fault;
    fault = null;
    return found;
  }

  @Override
  public boolean letGo(List<PeerRegion> wanted) {
    for (PeerRegion region : wanted) {
      if (region.attachment() instanceof Reaches reaches && reaches.isOpening()) {
        return false;
      }
    }
    kept.clear();
    List<Runnable> releases = new ArrayList<>();
    wanted.forEach(region -> letGo(region, releases));
    give(releases);
    lastRemote = null;
    lastReach = null;
    readyPlan = null;
    return giving.isDone();
  }

  private static void letGo(PeerRegion region, List<Runnable> releases) {
    if (region.attachment() instanceof Reaches reaches) {
      region.attach(null);
      releases.add(reaches::release);
    }
  }

  private void give(List<Runnable> releases) {
    if (releases.isEmpty()) {
      return;
    }
    CompletableFuture<?> before = giving;
    giving =
        gpus.inBackground(
            () -> {
              releases.forEach(this::quietly);
              return true;
            })
            .thenCombine(before, (_, _) -> true);
    CompletableFuture<?> _ = giving.whenComplete((_, _) -> settled());
  }

  @Override
  public boolean end() {
    if (!ending) {
      ending = true;
      kept.clear();
      lanes.giveBack();
      List<Runnable> releases = new ArrayList<>();
      regions.forEach(region -> letGo(region, releases));
      give(releases);
    }
    return giving.isDone();
  }

  /** What a driver does not let go of ends with the process; others shall be let go of all the same. */
  private void quietly(Runnable release) {
    try {
      release.run();
    } catch (DriverException e) {
      System.getLogger("dev.hawser.gpuipc")
          .log(System.Logger.Level.WARNING, "a path to {0} could not be cleared away: {1}", ends.peer(),
              e.getMessage());
    }
  }
}
