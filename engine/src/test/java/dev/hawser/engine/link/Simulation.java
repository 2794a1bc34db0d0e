/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloHandler;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.link.Scenario.Hazard;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.testkit.SoleOwner;
import dev.hawser.engine.testkit.sim.LandingObserver;
import dev.hawser.engine.testkit.sim.SimConnection;
import dev.hawser.engine.testkit.sim.SimMode;
import dev.hawser.engine.testkit.sim.SimNetwork;
import dev.hawser.engine.testkit.sim.SimWorld;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One initiator, one target, some transfers, a hostile environment, and every invariant of the protocol held against
 * every byte that moves. Real memory, the real state machines, virtual time.
 */
final class Simulation implements LandingObserver {
  private static final long MS = 1_000_000L;
  private static final int SLICE = 4096;
  private static final int SLICES = 16;
  private static final Map<String, byte[]> KEYS = Map.of("sim", new byte[0]);
  private static final byte REUSED = (byte) 0xEE;
  private static final MemoryRegistry REGISTRY = MemoryRegistry.create();
  private static final Region LOCAL = REGISTRY.allocate((long) SLICE * SLICES, Access.REMOTE_READ_WRITE);
  private static final Region REMOTE = REGISTRY.allocate((long) SLICE * SLICES, Access.REMOTE_READ_WRITE);
  private static final Region SCRATCH = REGISTRY.allocate(4096, Access.LOCAL);
  private static final Region GENERATIONS = REGISTRY.allocate(4096, Access.REMOTE_READ);

  private final SimWorld world;
  private final Scenario scenario;
  private final SimMode mode;
  private final SimNetwork network;
  private final LinkSettings settings;
  private final List<Job> jobs = new ArrayList<>();
  private final ArrayDeque<InboundNotification> taken = new ArrayDeque<>();
  private Target target;
  private Initiator initiator;
  private boolean quiet;
  private boolean crashed;

  private Simulation(long seed, Scenario scenario) {
    this.world = new SimWorld(seed);
    this.scenario = scenario;
    this.mode = scenario.mode();
    this.network = new SimNetwork(world, mode, this);
    this.settings =
        LinkSettings.defaults()
            .withTimes(
                (scenario.has(Hazard.DARKNESS) || scenario.has(Hazard.PAUSES)) && !scenario.isPatient() ? 20 * MS
                    : 600 * MS,
                4 * MS,
                15 * MS,
                2 * MS)
            .withChunks(256, 1024, 4096)
            .withCounts(scenario.credits(), scenario.first());
    LOCAL.segment().fill((byte) 0x11);
    REMOTE.segment().fill((byte) 0x22);
    GENERATIONS.segment().fill((byte) 0);
    this.target = new Target(1);
    this.initiator = new Initiator(1, 1);
  }

  /**
   * Runs one history.
   *
   * @return the broken invariant and the story, or empty
   */
  static String run(long seed, Scenario scenario) {
    Simulation simulation = new Simulation(seed, scenario);
    try {
      simulation.play();
    } catch (RuntimeException | AssertionError e) {
      simulation.world.violated("threw " + e);
      StackTraceElement[] trace = e.getStackTrace();
      for (int i = 0; i < Math.min(8, trace.length); i++) {
        simulation.world.note("  at " + trace[i]);
      }
    }
    return simulation.world.hasViolation()
        ? "seed %d, %s: %s%n%s"
            .formatted(seed, simulation.mode, simulation.world.violation(), simulation.world.story())
        : "";
  }

  // ------------------------------------------------------------------ the history

  private void play() {
    int count = 1 + (int) world.random(scenario.maxTransfers());
    for (int i = 0; i < count; i++) {
      Job job = new Job(i);
      jobs.add(job);
      world.after(world.random(10 * MS), () -> initiator.post(job));
    }
    for (int i = 0; i < scenario.cuts(); i++) {
      boolean silently = scenario.has(Hazard.ALL_BUT_ONE_DARK) || (scenario.has(Hazard.DARKNESS) && world.chance(300));
      world.after(world.random(30 * MS), () -> network.breakSomePath(silently, scenario.has(Hazard.ALL_BUT_ONE_DARK)));
    }
    if (scenario.has(Hazard.PAUSES) && (scenario.isPatient() || world.chance(400))) {
      world.after(world.random(20 * MS), () -> pause(world.chance(500) ? initiator : target));
    }
    if (scenario.has(Hazard.TARGET_CRASH) && world.chance(250)) {
      world.after(world.random(25 * MS), this::crashTarget);
    } else if (scenario.has(Hazard.INITIATOR_CRASH) && world.chance(250)) {
      world.after(world.random(25 * MS), this::crashInitiator);
    }
    boolean alone = !scenario.has(Hazard.CANCELS);
    for (int i = 0; scenario.has(Hazard.REVOKES) && i < 2; i++) {
      if (alone || world.chance(100)) {
        world.after(world.random(20 * MS), this::revoke);
      }
    }
    if (scenario.has(Hazard.CLOSES) && (alone || world.chance(50))) {
      world.after(world.random(20 * MS), this::closeLink);
    }
    if (scenario.has(Hazard.REFUSALS) && world.chance(100)) {
      world.after(world.random(20 * MS), () -> network.refuse(REMOTE.id()));
    }
    long start = world.now();
    world.runUntil(start + 60 * MS);
    if (world.hasViolation()) {
      return;
    }
    network.calm();
    quiet = true;
    world.runUntil(start + 700 * MS);
    if (!world.hasViolation()) {
      checkEnd();
    }
  }

  private void pause(SimAgent who) {
    world.note("environment: " + who + " stops");
    who.stoppedUntil = world.now() + world.random(60 * MS);
  }

  private void revoke() {
    world.note("environment: the target revokes");
    target.link.end(CloseKind.SESSION, "the blocks are needed", () -> world.note("target: revoked"));
  }

  private void closeLink() {
    world.note("environment: the initiator closes its link");
    initiator.link.beginClose(CloseKind.SESSION, "closed by the user", "closed by the user there");
  }

  private void crashTarget() {
    world.note("environment: the target dies and comes back");
    crashed = true;
    network.kill(target.incarnation);
    taken.clear();
    for (Job job : jobs) {
      job.targetForgot = true;
    }
    REMOTE.segment().fill(REUSED);
    world.after(
        world.random(20 * MS),
        () -> {
          target = new Target(target.epoch + 1);
        });
  }

  private void crashInitiator() {
    world.note("environment: the initiator dies and comes back");
    network.kill(initiator.incarnation);
    for (Job job : jobs) {
      job.abandoned = true;
    }
    LOCAL.segment().fill(REUSED);
    world.after(
        world.random(20 * MS),
        () -> {
          initiator = new Initiator(initiator.epoch + 1, target.epoch);
          Job job = new Job(15);
          jobs.add(job);
          initiator.post(job);
        });
  }

  // ------------------------------------------------------------------ invariants on bytes

  private @Nullable Job jobOf(long address, Region region) {
    int slice = (int) ((address - region.address()) / SLICE);
    for (Job job : jobs) {
      if (job.slice == slice) {
        return job;
      }
    }
    return null;
  }

  @Override
  public void localRead(long transfer, SimConnection connection, long address, long length) {
    Job job = jobOf(address, LOCAL);
    if (job != null && job.end != null && !connection.isFlushed()) {
      world.violated("%s: an undrained connection reads local memory after the end %s".formatted(job, job.end));
    }
  }

  @Override
  public void placed(long transfer, SimConnection connection, long remoteAddress, long length) {
    Job job = jobOf(remoteAddress, REMOTE);
    if (job == null) {
      return;
    }
    world.note("%s: %d bytes placed over path %s".formatted(job, length, connection.key()));
    if (job.reused) {
      world.violated("%s: bytes land after the target's application reused the memory".formatted(job));
    }
    if (job.settled) {
      world.violated("%s: bytes land after remoteSettled %s".formatted(job, job.state().remoteSettled()));
    }
    long base = REMOTE.address() + (long) job.slice * SLICE;
    for (long i = 0; i < length; i++) {
      long at = remoteAddress - base + i;
      byte found = REMOTE.segment().get(ValueLayout.JAVA_BYTE, remoteAddress - REMOTE.address() + i);
      if (found != job.pattern(at)) {
        world.violated("%s: byte %d is 0x%x, not 0x%x".formatted(job, at, found, job.pattern(at)));
        return;
      }
    }
  }

  @Override
  public void landed(long transfer, SimConnection connection, long localAddress, long length) {
    if (localAddress >= SCRATCH.address() && localAddress < SCRATCH.address() + SCRATCH.length()) {
      return;
    }
    Job job = jobOf(localAddress, LOCAL);
    if (job != null && job.end != null && !job.abandoned) {
      world.violated("%s: a response lands in local memory after the end %s".formatted(job, job.end));
    }
  }

  // ------------------------------------------------------------------ what must hold in the end

  private void checkEnd() {
    for (Job job : jobs) {
      if (job.abandoned || job.state == null) {
        continue;
      }
      TransferEnd end = job.end;
      if (end == null) {
        world.violated("%s never ended; initiator %s; target %s".formatted(job, initiator, target));
        return;
      }
      if (end instanceof TransferEnd.Done && job.write && job.wantsRecord && job.deliveries != 1 && !crashed) {
        world.violated("%s: DONE, delivered %d times".formatted(job, job.deliveries));
        return;
      }
      if (end instanceof TransferEnd.Done && job.write && !job.wantsRecord && !crashed && !job.reused) {
        checkContent(job, REMOTE, "DONE without a notification");
      }
      boolean stale = end instanceof TransferEnd.Failed f && f.cause() == TransferEnd.Cause.STALE;
      if (stale && !job.bumped) {
        world.violated("%s is STALE though its owner kept it".formatted(job));
        return;
      }
      if (!(end instanceof TransferEnd.Done) && !stale && !scenario.has(Hazard.CANCELS) && !crashed && mustSucceed()) {
        world.violated("%s ended %s though nothing but paths failed".formatted(job, end));
        return;
      }
      if (!scenario.has(Hazard.CANCELS) && end instanceof TransferEnd.Failed f && !isHonest(f)) {
        world.violated("%s ended %s".formatted(job, end));
        return;
      }
      RemoteState remote = job.state().remoteSettled();
      if (remote == RemoteState.PENDING) {
        world.violated("%s ended %s and never settled; initiator %s; target %s".formatted(job, end, initiator, target));
        return;
      }
      if (remote == RemoteState.DELIVERED && job.deliveries != 1 && !job.targetForgot) {
        world.violated("%s: settled DELIVERED, delivered %d times".formatted(job, job.deliveries));
      }
      if (remote == RemoteState.ABORTED && job.deliveries != 0) {
        world.violated("%s: settled ABORTED, delivered %d times".formatted(job, job.deliveries));
      }
    }
    if (world.hasViolation()) {
      return;
    }
    if (scenario.has(Hazard.PAUSES) && scenario.isPatient()) {
      for (Link.PathReport path : initiator.link.paths()) {
        if (path.lastFault().startsWith(PathFault.Kind.TIMED_OUT + ": nothing came")) {
          world.violated(
              "path %d was given up though only processes stopped: %s".formatted(path.path(), path.lastFault()));
          return;
        }
      }
    }
    String leak = initiator.leaks();
    if (!leak.isEmpty()) {
      world.violated("the initiator still holds something: " + leak);
    }
    if (scenario.has(Hazard.CLOSES) && !scenario.has(Hazard.CANCELS) && !target.link.isIdle()) {
      leak = target + " did not hear of the close";
    } else {
      leak = target.leaks();
    }
    if (!leak.isEmpty()) {
      world.violated("the target still holds something: " + leak);
    }
  }

  private boolean isHonest(TransferEnd.Failed end) {
    return switch (end.cause()) {
      case SESSION_ENDED -> // the reason is not known to a path that came up while the session ended
        scenario.has(Hazard.REVOKES)
            && (end.message().contains("the blocks are needed") || end.message().contains("revoked"));
      case CLOSED -> scenario.has(Hazard.CLOSES);
      case STALE -> true;
      default -> false;
    };
  }

  private boolean mustSucceed() {
    boolean heard = scenario.isPatient() || (!scenario.has(Hazard.PAUSES) && !scenario.has(Hazard.DARKNESS));
    return heard && !scenario.has(Hazard.REVOKES) && !scenario.has(Hazard.CLOSES) && !scenario.has(Hazard.REFUSALS);
  }

  private void checkContent(Job job, Region region, String when) {
    for (int i = 0; i < job.bytes; i++) {
      byte found = region.segment().get(ValueLayout.JAVA_BYTE, (long) job.slice * SLICE + i);
      if (found != job.pattern(i)) {
        world.violated("%s: %s, but byte %d is 0x%x, not 0x%x".formatted(job, when, i, found, job.pattern(i)));
        return;
      }
    }
  }

  // ------------------------------------------------------------------ one transfer

  private final class Job {
    final int slice;
    final boolean write;
    final int bytes;
    final int kind;
    final boolean wantsRecord;
    final boolean granted;
    final boolean bumped;
    final long cancelAfter;
    final Duration timeout;
    @Nullable
    TransferState state;
    @Nullable
    TransferEnd end;
    long epoch;
    int deliveries;
    boolean reused;
    boolean settled;
    boolean abandoned;
    boolean targetForgot;

    Job(int slice) {
      this.slice = slice;
      this.write = world.chance(700);
      this.bytes = world.chance(150) ? 0 : 1 + (int) world.random(SLICE - 1);
      this.kind = (int) world.random(4);
      this.wantsRecord = kind > 0 || bytes == 0;
      this.granted = !write && world.chance(600);
      this.bumped = granted && world.chance(500);
      boolean cancelled = scenario.has(Hazard.CANCELS) && world.chance(300);
      this.cancelAfter = cancelled ? world.random(8 * MS) : -1;
      this.timeout =
          Duration.ofNanos(scenario.has(Hazard.CANCELS) && world.chance(250) ? world.random(20 * MS) + 1 : 400 * MS);
    }

    TransferState state() {
      TransferState s = state;
      if (s == null) {
        throw new IllegalStateException("not posted");
      }
      return s;
    }

    byte pattern(long at) {
      return (byte) (slice * 37L + at * 7 + (at >> 8) * 13 + 1);
    }

    void fill(Region region) {
      for (int i = 0; i < bytes; i++) {
        region.segment().set(ValueLayout.JAVA_BYTE, (long) slice * SLICE + i, pattern(i));
      }
    }

    /** The user's memory at one side becomes something else. */
    void reuse(Region region) {
      region.segment().asSlice((long) slice * SLICE, SLICE).fill(REUSED);
    }

    void ended(TransferEnd how) {
      if (end != null) {
        world.violated("%s ended twice: %s, then %s".formatted(this, end, how));
        return;
      }
      end = how;
      world.note(this + ": END " + how);
      boolean promised =
          how instanceof TransferEnd.Cancelled
              || (how instanceof TransferEnd.Failed failed && failed.notified() == Notified.NO);
      if (promised && deliveries > 0) {
        world.violated("%s: promised that nothing was delivered, but it was".formatted(this));
      }
      if (how instanceof TransferEnd.Done && !write) {
        checkContent(this, LOCAL, "READ DONE");
      }
      reuse(LOCAL);
    }

    void deliveredAtTarget() {
      deliveries++;
      world.note(this + ": DELIVERED");
      if (deliveries > 1) {
        world.violated(this + ": delivered twice");
        return;
      }
      if (write) {
        checkContent(this, REMOTE, "DELIVERED");
      }
      TransferEnd how = end;
      if (how instanceof TransferEnd.Cancelled
          || (how instanceof TransferEnd.Failed failed && failed.notified() == Notified.NO)) {
        world.violated("%s: delivered after the end %s".formatted(this, how));
      }
      if (settled) {
        world.violated(this + ": delivered after remoteSettled");
      }
      if (write) {
        reused = true;
        reuse(REMOTE);
      }
    }

    void abortedAtTarget() {
      world.note(this + ": the target's application is told ABORTED");
      if (deliveries > 0) {
        world.violated(this + ": aborted after it was delivered");
      }
      if (write) {
        reused = true;
        reuse(REMOTE);
      }
    }

    void bump() {
      if (!bumped || targetForgot) {
        return;
      }
      world.note(this + ": the owner takes its blocks back");
      if (scenario.has(Hazard.OWNER_BUMPS_LATE)) {
        reuse(REMOTE);
        world.after(world.random(3 * MS), this::bumpGeneration);
      } else {
        bumpGeneration();
        world.after(world.random(MS), () -> reuse(REMOTE));
      }
    }

    private void bumpGeneration() {
      GENERATIONS.segment().set(ValueLayout.JAVA_LONG, slice * 8L, 2L);
    }

    @Override
    public String toString() {
      return "%s %d (%d bytes, kind %d%s)"
          .formatted(write ? "WRITE" : "READ", slice, bytes, kind, granted ? ", granted" : "");
    }
  }

  // ------------------------------------------------------------------ agents

  private abstract class SimAgent extends SoleOwner {
    long stoppedUntil;

    abstract SimNetwork.Incarnation who();

    abstract void work();

    void tick() {
      if (who().isDead()) {
        return;
      }
      if (stoppedUntil - world.now() <= 0) {
        work();
      }
      world.after(20_000 + world.random(quiet ? 1_000_000 : 300_000), this::tick);
    }

    @Override
    public long nanoTime() {
      return world.now();
    }

    @Override
    public long random(long bound) {
      return world.random(bound);
    }

    @Override
    public PathOpener opener() {
      return network.opener(who());
    }

    @Override
    public Region scratch() {
      return SCRATCH;
    }

    @Override
    public void log(System.Logger.Level level, String line) {
      world.note(this + ": " + line);
    }
  }

  private final class Initiator extends SimAgent {
    final long epoch;
    final SimNetwork.Incarnation incarnation;
    final OutboundLink link;

    Initiator(long epoch, long targetEpoch) {
      this.epoch = epoch;
      this.incarnation = new SimNetwork.Incarnation("initiator", epoch, new NoTarget());
      network.start(incarnation);
      int paths = 1 + (int) world.random(scenario.maxPaths());
      Rail rail = new Rail("sim", "rail0", 0, 0);
      Tier tier =
          new Tier(
              "sim",
              new TransportTraits(mode == SimMode.MAPPED, mode == SimMode.MAPPED, 8192, 31, 1024, paths, 0),
              new byte[0],
              List.of(new Reachability.Route(rail, "rail0")),
              paths);
      this.link =
          new OutboundLink(
              this,
              settings,
              new RailShares(),
              scenario.rules(),
              "initiator",
              epoch,
              new PeerDescription("target", targetEpoch, List.of("192.0.2.1:1"), Map.of()),
              List.of(tier),
              Map.of());
      tick();
    }

    @Override
    SimNetwork.Incarnation who() {
      return incarnation;
    }

    void post(Job job) {
      if (incarnation.isDead()
          || (link.state() != OutboundLink.State.UP && link.state() != OutboundLink.State.CONNECTING)) {
        return;
      }
      RemoteRegion remote =
          new RemoteRegion(
              REMOTE.id(), REMOTE.address(), REMOTE.length(), REMOTE.device(), REMOTE.access(), KEYS);
      long local = LOCAL.address() + (long) job.slice * SLICE;
      long far = REMOTE.address() + (long) job.slice * SLICE;
      TransferPlan plan =
          new TransferPlan(
              BlockPairs.of(BlockList.of(local, job.bytes), BlockList.of(far, job.bytes)),
              new Region[] {LOCAL},
              new RemoteRegion[] {remote});
      TransferState t = (TransferState) link.prepare(job.write ? Op.WRITE : Op.READ, plan);
      job.state = t;
      job.epoch = epoch;
      job.fill(job.write ? LOCAL : REMOTE);
      t.timeout(job.timeout);
      if (job.wantsRecord) {
        switch (job.kind) {
          case 1 -> t.notification(new byte[] {(byte) job.slice});
          case 2 -> t.count((long) job.slice);
          default -> {
            if (job.bytes == 0) {
              t.notification(new byte[] {(byte) job.slice});
            } else {
              t.count((long) job.slice);
            }
          }
        }
      }
      if (job.granted) {
        GENERATIONS.segment().set(ValueLayout.JAVA_LONG, job.slice * 8L, 1L);
        t.grant(
            new GrantCheck(
                new RemoteRegion(
                    GENERATIONS.id(),
                    GENERATIONS.address(),
                    GENERATIONS.length(),
                    GENERATIONS.device(),
                    GENERATIONS.access(),
                    KEYS),
                GENERATIONS.address() + job.slice * 8L,
                1));
        world.after(world.random(6 * MS), job::bump);
      }
      t.onEnd(
          x -> {
            TransferEnd end = x.end();
            if (end != null) {
              job.ended(end);
            }
          });
      world.note(job + ": posted");
      t.post();
      if (job.cancelAfter >= 0) {
        world.after(
            job.cancelAfter,
            () -> {
              world.note(job + ": the user cancels");
              t.cancel();
            });
      }
    }

    @Override
    void work() {
      link.doWork();
      for (Job job : jobs) {
        if (job.state != null && job.end != null && !job.settled && !job.abandoned) {
          RemoteState remote = job.state().remoteSettled();
          if (remote == RemoteState.DELIVERED || remote == RemoteState.ABORTED) {
            world.note(job + ": remoteSettled " + remote);
            job.settled = true;
          }
        }
      }
    }

    String leaks() {
      if (link.isGone() || incarnation.isDead()) {
        return "";
      }
      boolean busy = link.isBusy() || !link.window().isEmpty() || network.leaked(incarnation) > 0;
      return busy ? "%s, %d connections".formatted(link.holdings(), network.leaked(incarnation)) : "";
    }

    @Override
    public String toString() {
      return "initiator." + epoch + " " + link.holdings();
    }
  }

  private static final class NoTarget implements HelloHandler {
    @Override
    public void hello(Hello hello, HelloReply reply) {
      throw new IllegalStateException("nobody dials the initiator");
    }

    @Override
    public void connected(Hello hello, Welcome welcome, Connection connection) {}

    @Override
    public void abandoned(Hello hello, Welcome welcome) {}
  }

  private final class Target extends SimAgent implements HelloHandler, InboundHandler {
    final long epoch;
    final SimNetwork.Incarnation incarnation;
    final RailShares shares = new RailShares();
    InboundLink link;

    Target(long epoch) {
      this.epoch = epoch;
      this.incarnation = new SimNetwork.Incarnation("target", epoch, this);
      this.link = newLink(DepartedInitiator.NEVER_SEEN);
      network.start(incarnation);
      if (scenario.has(Hazard.COMPETITORS)) {
        List<ByteShares.Member> others = new ArrayList<>();
        for (long i = world.random(40); i >= 0; i--) {
          others.add(new ByteShares.Member());
        }
        compete(others);
      }
      tick();
    }

    /** Other initiators are busy on the same rail; now and then they are silent for so long that they are forgotten. */
    private void compete(List<ByteShares.Member> others) {
      for (ByteShares.Member other : others) {
        shares.in("sim:rail0").report(other, 1 + world.random(4096), 4096, world.chance(500), world.now());
      }
      world.after(world.random(world.chance(20) ? 300 * MS : 10 * MS), () -> compete(others));
    }

    @Override
    SimNetwork.Incarnation who() {
      return incarnation;
    }

    private InboundLink newLink(DepartedInitiator before) {
      return new InboundLink(this, settings, shares, scenario.targetRules(), this, "initiator", epoch, before);
    }

    @Override
    void work() {
      link.doWork();
      if (link.isForgettable() && world.chance(500)) {
        link = newLink(link.departed());
      }
      while (!taken.isEmpty() && world.chance(quiet ? 1000 : 300)) {
        taken.remove().consumed();
      }
    }

    @Override
    public void hello(Hello hello, HelloReply reply) {
      link.hello(hello, reply);
    }

    @Override
    public void connected(Hello hello, Welcome welcome, Connection connection) {
      link.connected(hello, welcome, connection);
    }

    @Override
    public void abandoned(Hello hello, Welcome welcome) {
      link.abandoned(hello, welcome);
    }

    @Override
    public void notification(InboundNotification notification) {
      taken.add(notification);
      if (taken.size() > scenario.credits()) {
        world.violated("%d notifications are not taken, %d were lent".formatted(taken.size(), scenario.credits()));
      }
      deliver(notification.payload()[0]);
    }

    @Override
    public void counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {
      deliver((int) counter);
    }

    private void deliver(int slice) {
      for (Job job : jobs) {
        if (job.slice == slice) {
          job.deliveredAtTarget();
        }
      }
    }

    @Override
    public void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {
      for (Job job : jobs) {
        if (job.state != null && job.state().id() == transfer && job.epoch == peerEpoch) {
          job.abortedAtTarget();
        }
      }
    }

    @Override
    public void peerLost(String peer, long peerEpoch, String reason) {
      world.note("target: the session is over: " + reason);
      // what this session was writing may be reused now, except what has only begun in the next
      for (Job job : jobs) {
        boolean of = job.state != null && job.state().touched() && job.write && job.deliveries == 0;
        if (of && job.end != null && job.bytes > 0 && job.wantsRecord) {
          job.reused = true;
          job.reuse(REMOTE);
        }
      }
    }

    String leaks() {
      if (incarnation.isDead()) {
        return "";
      }
      return network.leaked(incarnation) > 0 || link.isBusy()
          ? "%s, %d connections".formatted(link.holdings(), network.leaked(incarnation))
          : "";
    }

    @Override
    public String toString() {
      return "target." + epoch + " " + link.holdings();
    }
  }
}
