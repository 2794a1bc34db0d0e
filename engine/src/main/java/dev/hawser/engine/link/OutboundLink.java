/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.OpenRequest;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.wire.Capabilities;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageReader;
import dev.hawser.engine.wire.MessageType;
import dev.hawser.engine.wire.MessageWriter;
import dev.hawser.engine.wire.WireException;
import dev.hawser.memory.Region;
import dev.hawser.memory.RemoteKey;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jctools.queues.MessagePassingQueue;
import org.jctools.queues.atomic.MpscUnboundedAtomicArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * The initiator's side of a link: paths and their generations, the session, and the table of
 * transfers. What a transfer does in its phases is {@link Initiation}'s; what is owed to the target
 * after the end is {@link Settlements}'.
 */
public final class OutboundLink implements Link {
  private static final long MOST_BYTES_FOR_POSTER = 8 << 20;

  private static final int MAX_FORESEEN = 4096;

  /** Signs of life are looked for so often per heartbeat, and a path without any is given up after so many looks. */
  private static final int LOOKS = 2;

  private static final int MISSES = 5;

  /** How long an attempt to bring a path back may take while others are up: a rail that is dead does not answer at all. */
  private static final long PROBE_NANOS = 500_000_000;

  /** While there is work, the peer's process is looked at so often: a look takes up to 3 µs, a small put half of one. */
  private static final long PEER_LOOK_NANOS = 250_000;

  /** Where nobody listened for so long, and so often, nobody will. */
  private static final long REFUSED_NANOS = 500_000_000;

  private static final int MIN_REFUSALS = 3;

  /** A path with data under way on which nothing comes for so long is named in errors. */
  private static final long STALLED_NANOS = 100_000_000;

  private final LinkHost host;
  private final LinkSettings settings;
  private final RailShares shares;
  private final InitiatorRules rules;
  private final String localName;
  private final long localEpoch;
  private final PeerDescription peer;
  private final List<Tier> tiers;
  private final Map<String, String> unused = new TreeMap<>();
  private final MessagePassingQueue<Object> mailbox =
      new MpscUnboundedAtomicArrayQueue<>(1024);
  private final MessagePassingQueue.Consumer<Object> mailReader = this::takeMail;
  private final BooleanSupplier armer = this::arm;

  private volatile State state = State.CONNECTING;
  private volatile String stateReason = "";
  private Cause partingCause = Cause.CLOSED;
  private final List<Path> paths = new ArrayList<>();
  private volatile List<Path> pathsSeen = List.of();
  private int nextPathId = 1;
  private int openTiers;

  private final List<PathGeneration> live = new ArrayList<>();
  private final List<PathGeneration> dead = new ArrayList<>();
  private final List<PathGeneration> retired = new ArrayList<>();
  private @Nullable PathGeneration[] byIndex = new @Nullable PathGeneration[16];
  private int upCount;

  /** Before the first path was up; more than {@value #MAX_FORESEEN} are met as they are used. */
  private final Map<Integer, RemoteRegion> foreseen = new LinkedHashMap<>();

  private int session;
  /** HELLOs on their way, and those of them that ask for a new session. */
  private int opening;

  private int openingSession;
  private long sessionOverAt;
  private String sessionEnd = "";
  private final AtomicLong nextTransfer;
  private final Initiation initiation;
  private final Settlements settlements;
  private final FlowWatch flowWatch = new FlowWatch();
  private final TransferWindow<Object> window;
  final MessageWriter writer = new MessageWriter();
  private final MessageReader reader = new MessageReader();

  private long now;
  private long lastHeard;
  private long nextHeartbeat;
  private long nextLook;
  private boolean everUp;
  private boolean lostReported;

  /** How the peer's incarnation has ended, as it said itself, or as the kernel of this host says of its process; else empty. */
  private String departure = "";

  private long nextPeerLook;

  /** How often in a row its host has refused us, and since when. */
  private int refusals;

  private long refusedSince;

  /** Our own work threw. */
  private boolean crashed;

  /**
   * Makes a link; its first {@link #doWork} begins to connect.
   *
   * @param shares the rails that it shares with the engine's other links
   * @param tiers ways to reach the peer, best first; at least one
   * @param unreachable by transport name, why it is none of them
   */
  public OutboundLink(
      LinkHost host,
      LinkSettings settings,
      RailShares shares,
      String localName,
      long localEpoch,
      PeerDescription peer,
      List<Tier> tiers,
      Map<String, String> unreachable) {
    this(
        host,
        settings,
        shares,
        InitiatorRules.PROTOCOL,
        localName,
        localEpoch,
        peer,
        tiers,
        unreachable);
  }

  OutboundLink(
      LinkHost host,
      LinkSettings settings,
      RailShares shares,
      InitiatorRules rules,
      String localName,
      long localEpoch,
      PeerDescription peer,
      List<Tier> tiers,
      Map<String, String> unreachable) {
    if (tiers.isEmpty()) {
      throw new LinkException("no transport reaches " + peer.name() + ": " + unreachable);
    }
    this.host = host;
    this.settings = settings;
    this.shares = shares;
    this.rules = rules;
    this.localName = localName;
    this.localEpoch = localEpoch;
    this.peer = peer;
    this.tiers = List.copyOf(tiers);
    this.unused.putAll(unreachable);
    this.nextTransfer = new AtomicLong(settings.firstTransfer());
    this.window = new TransferWindow<>(settings.firstTransfer());
    this.now = host.nanoTime();
    this.lastHeard = now;
    this.nextHeartbeat = now;
    this.nextLook = now;
    this.nextPeerLook = now;
    this.initiation = new Initiation(this, host, settings, rules, tiers.size());
    this.settlements = new Settlements(this, rules);
    openTier();
  }

  // ------------------------------------------------------------------ any thread

  @Override
  public String peer() {
    return peer.name();
  }

  @Override
  public long peerEpoch() {
    return peer.epoch();
  }

  @Override
  public State state() {
    return state;
  }

  @Override
  public void awaitUp(Duration timeout) {
    waitFor(() -> state != State.CONNECTING, timeout.toNanos());
    if (state != State.UP) {
      throw new LinkException(
          "no path to %s is up after %d ms: %s".formatted(peer.name(), timeout.toMillis(), whyNotUp()));
    }
  }

  /** Rare waits: the worker does the work, this thread looks now and then. */
  private void waitFor(BooleanSupplier condition, long nanos) {
    long deadline = host.nanoTime() + nanos;
    long pause = 20_000;
    while (!condition.getAsBoolean() && host.nanoTime() - deadline < 0 && !Thread.currentThread().isInterrupted()) {
      host.wake();
      LockSupport.parkNanos(this, pause);
      pause = Math.min(pause * 2, 1_000_000);
    }
  }

  @Override
  public List<PathReport> paths() {
    return pathsSeen.stream()
        .map(
            p -> {
              PathGeneration g = p.current;
              return new PathReport(
                  p.tier.transport(),
                  p.route.local().name(),
                  p.route.remote(),
                  p.id,
                  g == null ? 0 : g.key.generation(),
                  g != null,
                  p.traffic.written(),
                  p.traffic.read(),
                  p.traffic.latency(),
                  p.lastFault);
            })
        .toList();
  }

  @Override
  public List<FlowReport> flows() {
    long at = host.nanoTime();
    return pathsSeen.stream()
        .map(
            p -> {
              PathGeneration g = p.current;
              return new FlowReport(
                  peer.name(),
                  p.tier.transport(),
                  p.route.local().name(),
                  p.route.remote(),
                  p.id,
                  g != null,
                  p.traffic.written(),
                  p.traffic.read(),
                  g == null ? 0 : g.bytesInFlight,
                  g == null ? 0 : Math.max(0, at - g.lastProgressAt),
                  p.flow.lastEight(),
                  p.flow.lastMillisecond(at),
                  p.traffic.latency(),
                  g == null ? Optional.empty() : Optional.ofNullable(p.network),
                  g == null ? Set.of() : FlowWatch.of(p.anomalies),
                  p.lastFault);
            })
        .toList();
  }

  @Override
  public Map<String, String> unused() {
    synchronized (unused) {
      return new TreeMap<>(unused);
    }
  }

  @Override
  public Transfer prepare(DataRequest.Op op, TransferPlan plan) {
    for (int i = 0; op == DataRequest.Op.READ && i < plan.localRegions(); i++) {
      if (!plan.localRegion(i).writable()) {
        throw new IllegalArgumentException(
            plan.localRegion(i) + " is read-only memory: a READ needs a local region that can be written");
      }
    }
    int reaching = tiersFor(plan);
    if (reaching == 0) {
      throw new LinkException(
          "no transport that reaches %s has a key for all of its memory: %s"
              .formatted(peer.name(), keysOf(plan)));
    }
    learnNearness(plan);
    tell(
        () -> {
          openUpTo(reaching);
          for (int i = 0; i < plan.remoteRegions(); i++) {
            foreseeNow(plan.remoteRegion(i));
          }
        });
    return new TransferState(this, op, plan, reaching);
  }

  /** On the user's thread, since it may look at the system. */
  private void learnNearness(TransferPlan plan) {
    if (plan.localRegions() > 0 && !plan.localRegion(0).device().isHost()) {
      for (Path path : pathsSeen) {
        shares.nearness().weight(plan.localRegion(0).device(), path.route.local());
      }
    }
  }

  @Override
  public void foresee(RemoteRegion region) {
    tell(() -> foreseeNow(region));
  }

  private void foreseeNow(RemoteRegion region) {
    boolean told = false;
    for (int i = 0; i < live.size(); i++) {
      told |= tellForeseen(live.get(i), region);
    }
    if (!told && foreseen.size() < MAX_FORESEEN && !isClosed()) {
      foreseen.put(region.id(), region);
    }
  }

  private boolean tellForeseen(PathGeneration g, RemoteRegion region) {
    if (!g.isUp() || (tiersFor(region) & 1 << g.path.tierIndex) == 0) {
      return false;
    }
    g.connection.foresee(region);
    return true;
  }

  /** Which tiers have keys for every remote region of a plan, and can use every local one, as a mask. */
  private int tiersFor(TransferPlan plan) {
    int mask = -1;
    for (int l = 0; l < plan.localRegions(); l++) {
      mask &= tiersFor(plan.localRegion(l));
    }
    for (int r = 0; r < plan.remoteRegions(); r++) {
      mask &= keysFor(plan.remoteRegion(r));
    }
    return plan.touchesDevice() ? preferReaching(mask) : mask;
  }

  /** Memory of devices goes through the host's only where no better tier reaches it, or behind those that do. */
  private int preferReaching(int mask) {
    for (int i = 0; i < tiers.size(); i++) {
      if ((mask & 1 << i) != 0 && !tiers.get(i).traits().stages()) {
        return mask & -1 << i;
      }
    }
    return mask;
  }

  /** Which tiers can use memory of this process, as a mask: that of the host all, that of a device those that bound it. */
  private int tiersFor(Region local) {
    if (local.device().isHost()) {
      return -1;
    }
    int mask = 0;
    for (RemoteKey key : local.remoteKeys()) {
      for (int i = 0; i < tiers.size(); i++) {
        mask |= tiers.get(i).transport().equals(key.transport()) ? 1 << i : 0;
      }
    }
    return mask;
  }

  /** Which tiers serve a region, as a mask. */
  int tiersFor(RemoteRegion region) {
    int mask = keysFor(region);
    return region.device().isHost() ? mask : preferReaching(mask);
  }

  private int keysFor(RemoteRegion region) {
    int mask = 0;
    for (int i = 0; i < tiers.size(); i++) {
      mask |= region.keys().containsKey(tiers.get(i).transport()) ? 1 << i : 0;
    }
    return mask;
  }

  private static String keysOf(TransferPlan plan) {
    StringBuilder text = new StringBuilder();
    for (int r = 0; r < plan.remoteRegions(); r++) {
      text.append(text.isEmpty() ? "" : "; ")
          .append(plan.remoteRegion(r))
          .append(" has keys for ")
          .append(plan.remoteRegion(r).keys().keySet());
    }
    for (int l = 0; l < plan.localRegions(); l++) {
      Region local = plan.localRegion(l);
      if (!local.device().isHost()) {
        text.append("; ").append(local).append(" is bound to ").append(local.remoteKeys());
        local.registration().failures().forEach(failure -> text.append("; ").append(failure));
      }
    }
    return text.toString();
  }

  /** A transfer needs one of these tiers: open the first of them, if none is being used. Owner only. */
  private void openUpTo(int mask) {
    while (openTiers < tiers.size() && (mask & (1 << openTiers) - 1) == 0) {
      openTier();
    }
  }

  @Override
  public void close() {
    beginClose(CloseKind.SESSION, "the link was closed here", "its link is closed");
    awaitGone();
  }

  /**
   * Begins what {@link #close} does; {@link #isGone} says when it is done. Any thread.
   *
   * @param why for those who wait here
   * @param said to the target, which prints it behind our name
   */
  public void beginClose(CloseKind kind, String why, String said) {
    tell(() -> part(State.CLOSED, Cause.CLOSED, kind, why, said));
  }

  /** Waits until nothing is held any more, for a second beyond the drain time. Any thread. */
  public void awaitGone() {
    waitFor(this::isGone, 2 * settings.drainNanos() + 1_000_000_000L);
  }

  /** The owner's work threw: nothing of it can be trusted any more. Idempotent. Owner only. */
  public void crashed(Throwable cause) {
    String why = "internal error: " + cause;
    if (!crashed) {
      crashed = true;
      host.log(Level.ERROR, "the link to " + peer.name() + " is given up after an " + why);
    }
    part(State.CLOSED, Cause.CLOSED, CloseKind.SESSION, why, why);
    leave();
  }

  /**
   * Polls a path. Memory that is gone where nobody expected it ends this path only; anything else is the link's end, and
   * from then on that of each path that goes on so, for its chunks must come back.
   */
  private int poll(PathGeneration g) {
    if (g.end.isBroken()) {
      return 0;
    }
    try {
      return g.connection.poll(g);
    } catch (RuntimeException | Error e) {
      if (!g.isUp()) {
        g.end.broke(e);
      } else if (e instanceof InternalError) {
        fail(g, new PathFault(PathFault.Kind.WORK_ERROR, "registered memory is gone: " + e.getMessage()));
      } else {
        throw e;
      }
      return 1;
    }
  }

  /** For {@link ConnectionEnd}. */
  void endBroke(PathGeneration g, Throwable cause) {
    host.log(Level.ERROR, "%s to %s cannot be drained after an internal error: %s".formatted(g, peer.name(), cause));
  }

  /** Fails everything because a newer incarnation of the peer is known. Any thread. */
  public void supersede(long newEpoch) {
    tell(
        () -> part(
            State.REFUSED,
            Cause.PEER_RESTARTED,
            CloseKind.SESSION,
            "%s restarted: epoch %d is over, %d is known"
                .formatted(peer.name(), peer.epoch(), newEpoch),
            "epoch %d is known there".formatted(newEpoch)));
  }

  /** The worker has ended: closes what is still open. Transfers that are under way stay so. */
  public void abandon() {
    mailbox.drain(mailReader); // a connection that came in the last moment is closed, too
    live.forEach(g -> g.end.close());
    live.clear();
  }

  private volatile boolean gone;

  /** True once the link is closed and holds nothing any more. */
  public boolean isGone() {
    return gone;
  }

  /** Does something for the owner, soon. */
  void tell(Runnable command) {
    mailbox.offer(command);
    host.wake();
  }

  void submit(TransferState transfer) {
    mailbox.offer(transfer);
    // What is small is done at once by whoever posts it. For what is not, the first pass alone would keep the poster from
    // its own work for longer than it takes to wake the worker.
    if (transfer.totalBytes() > MOST_BYTES_FOR_POSTER || !help()) {
      host.wake();
      takeLeftoverMail();
    }
  }

  /** Nobody runs a link that is gone: what was posted in that moment is refused by its poster. */
  private void takeLeftoverMail() {
    while (gone && !mailbox.isEmpty() && !help()) {
      Thread.onSpinWait();
    }
  }

  void enqueue(TransferState transfer) {
    mailbox.offer(transfer);
  }

  /** Moves this link on the calling thread; false if somebody else is at it. */
  boolean help() {
    if (!host.tryEnter()) {
      return false;
    }
    boolean more = true;
    try {
      doWork();
      more = isBusy() || host.wantsThread(now, armer);
    } catch (RuntimeException | Error e) {
      crashed(e); // whoever posted hears of it from the transfer
    } finally {
      host.leave(more);
    }
    return true;
  }

  boolean await(TransferState transfer, BooleanSupplier ended, Duration timeout) {
    long deadline = host.nanoTime() + timeout.toNanos();
    if (!host.runUntil(ended, deadline)) {
      host.wake();
      takeLeftoverMail();
      try {
        transfer.waitForEnd(deadline - host.nanoTime());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return ended.getAsBoolean();
  }

  long hostNow() {
    return host.nanoTime();
  }

  void mustBeOpen() {
    State present = state;
    if (present == State.CLOSED || present == State.REFUSED) {
      throw new LinkException("%s: %s".formatted(peer.name(), stateReason));
    }
  }

  // ------------------------------------------------------------------ the owner's work

  /**
   * Moves everything that can move.
   *
   * @return how much was done
   */
  public int doWork() {
    now = host.nanoTime();
    if (now - nextEvent > settings.heartbeatNanos()) {
      forgiveOwnAbsence(now - nextEvent);
    }
    if (now - nextPeerLook >= 0 && !crashed) {
      lookAtPeer();
    }
    int work = mailbox.drain(mailReader);
    work += initiation.pump();
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp()) {
        g.connection.flushPosted();
      }
      work += poll(g);
      if (!g.end.isBroken()) {
        noteProgress(g);
      }
    }
    work += reapDrained();
    if (parting) {
      work += partWhenHeard(); // before the transfers' drain time is over, which takes the paths
    }
    if (now - nextEvent >= 0) {
      work += timers(); // behind the polls: what has arrived meanwhile is a sign of life
    }
    work += initiation.advanceReady();
    if (initiation.wantsPump()) {
      work += initiation.pump();
      for (int i = 0; i < live.size(); i++) {
        if (live.get(i).isUp()) {
          live.get(i).connection.flushPosted();
        }
      }
    }
    work += settlements.drive();
    work += driveFences();
    if (isClosed() && !parting && live.isEmpty() && opening == 0) {
      gone = true;
    }
    return work;
  }

  /** Before anything is posted: to memory of a process that has ended all can be written, and nobody has it. */
  private void lookAtPeer() {
    nextPeerLook = now + PEER_LOOK_NANOS;
    for (int i = 0; i < live.size(); i++) {
      live.get(i).connection.lookAtPeer();
    }
  }

  /** We come later than we meant to, stopped or starved: that is not the peer's silence. */
  private void forgiveOwnAbsence(long absence) {
    lastHeard += absence;
    for (int i = 0; i < live.size(); i++) {
      live.get(i).lastProgressAt += absence;
    }
  }

  /** When {@link #doWork} must be called again even if nothing happens. */
  public long nextTimer() {
    return nextEvent;
  }

  /** True if something is under way that needs the owner now and then. */
  public boolean isBusy() {
    return !mailbox.isEmpty() || parting || initiation.isBusy() || !settlements.isIdle() || !dead.isEmpty();
  }

  /** Asks every connection to wake the owner; false if one has something already. */
  public boolean arm() {
    if (!mailbox.isEmpty() || initiation.asksForStarts()) {
      return false;
    }
    for (int i = 0; i < live.size(); i++) {
      if (!live.get(i).end.isBroken() && !live.get(i).connection.arm()) {
        return false;
      }
    }
    return true;
  }

  private long nextEvent;

  private void takeMail(Object mail) {
    if (mail instanceof TransferState transfer) {
      initiation.signalled(transfer);
    } else {
      ((Runnable) mail).run();
    }
  }

  private int timers() {
    long next = now + settings.heartbeatNanos();
    int work = 0;
    if (state == State.CONNECTING || state == State.UP) {
      work += openPaths();
      next = nextOpening(next);
    }
    if (now - nextHeartbeat >= 0) {
      nextHeartbeat = now + settings.heartbeatNanos();
      for (PathGeneration g : live) {
        if (g.isUp()) {
          g.connection.postMessage(0, writer.heartbeat(session, window.base()));
          work++;
        }
      }
      checkSilence();
    }
    next = earlier(next, nextHeartbeat);
    if (now - nextLook >= 0) {
      work += lookForSilentPaths();
    }
    next = earlier(next, nextLook);
    if (everUp && !lostReported && departure.isEmpty()) {
      long lease = lastHeard + settings.leaseNanos() + 1;
      if (now - lease >= 0) {
        checkSilence();
      } else {
        next = earlier(next, lease);
      }
    }
    if (parting) {
      next = earlier(next, partingUntil);
    }
    next = earlier(next, initiation.checkDeadlines());
    nextEvent = next;
    return work;
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }

  /** Makes {@link #timers} run at that time at the latest. */
  void timerAt(long time) {
    nextEvent = earlier(nextEvent, time);
  }

  private void noteProgress(PathGeneration g) {
    long progress = g.connection.progress();
    if (progress != g.lastProgress) {
      g.lastProgress = progress;
      g.lastProgressAt = now;
      lastHeard = now;
      lostReported = false;
    }
  }

  private void checkSilence() {
    if (everUp && !lostReported && departure.isEmpty() && now - lastHeard > settings.leaseNanos()) {
      lostReported = true;
      peerLost(
          "%s gave no sign of life for %d ms on any path%s"
              .formatted(peer.name(), (now - lastHeard) / 1_000_000, faults()));
      return;
    }
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp() && now - g.lastProgressAt > settings.leaseNanos()) {
        fail(
            g,
            new PathFault(
                PathFault.Kind.TIMED_OUT,
                "nothing heard for %d ms".formatted((now - g.lastProgressAt) / 1_000_000)));
      }
    }
  }

  /**
   * Gives up paths on which there is no sign of life while the peer's process is heard on others. A peer that is stopped
   * or starved is not heard on any, though its kernel may answer on some: that is not held against the others; nor is
   * time in which we did not look.
   */
  private int lookForSilentPaths() {
    long pause = settings.heartbeatNanos() / LOOKS;
    boolean late = now - nextLook > pause;
    nextLook = now + pause;
    boolean any = false;
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (!g.isUp()) {
        continue;
      }
      long signs = g.connection.signsOfLife();
      g.signed = signs != g.signs;
      if (g.signed) {
        g.signs = signs;
        g.misses = -1;
      }
      any |= g.lastProgress != g.watchedProgress;
      if (g.isUp()) { // it may have been found without a link right now
        g.path.network = g.connection.network();
      }
    }
    int given = 0;
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (!g.isUp()) {
        continue;
      }
      g.misses += g.misses < 0 || (any && !late) ? 1 : 0;
      if (g.misses >= MISSES) {
        fail(
            g,
            new PathFault(
                PathFault.Kind.TIMED_OUT,
                "nothing came for %d ms, while other paths heard %s"
                    .formatted((now - g.lastProgressAt) / 1_000_000, peer.name())));
        given++;
      }
    }
    flowWatch.look(
        live, initiation.wantsPump(), initiation.waitsForCredit(), settings.maxBytesInFlight(), now);
    return given;
  }

  private void peerLost(String why) {
    host.log(Level.WARNING, why);
    for (PathGeneration g : List.copyOf(live)) {
      fail(g, new PathFault(PathFault.Kind.TIMED_OUT, "the peer is silent"));
    }
    sessionOver(why);
    initiation.endAll(Cause.PEER_LOST, why);
  }

  // ------------------------------------------------------------------ paths

  private void openTier() {
    Tier tier = tiers.get(openTiers++);
    for (Reachability.Route route : tier.routes()) {
      RouteFlight flight = flightOf(tier, route);
      for (int i = 0; i < tier.pathsPerRoute(); i++) {
        paths.add(new Path(nextPathId++, openTiers - 1, tier, route, flight, now));
      }
    }
    pathsSeen = List.copyOf(paths);
    nextEvent = now;
  }

  private @Nullable RouteFlight flightOf(Tier tier, Reachability.Route route) {
    if (tier.traits().mapped()) {
      return null; // memory is no queue of others
    }
    String rail = route.local().toString();
    RouteFlight flight =
        new RouteFlight(shares.out(rail), shares.in(rail), settings.minChunkBytes(), now);
    initiation.add(flight);
    return flight;
  }

  /** Tells the target what would be under way towards one of its rails, if it lends bytes. */
  void demand(@Nullable PathGeneration over, long wanted, long most, boolean held) {
    if (over != null && over.isUp() && over.lendsBytes) {
      over.connection.postMessage(0, writer.demand(session, wanted, most, held)); // said again soon
    }
  }

  private int openPaths() {
    if (session == 0) {
      Path first = mustNotAskForSession() ? null : mostHopeful();
      if (first == null) {
        return 0;
      }
      open(first);
      return 1;
    }
    int begun = 0;
    for (int i = 0; i < paths.size(); i++) {
      Path p = paths.get(i);
      if (mayOpen(p)) {
        open(p);
        begun++;
      }
    }
    return begun;
  }

  private boolean mayOpen(Path p) {
    return p.current == null && !p.opening && now - p.reopenAt >= 0;
  }

  /** Of the paths that may open the one that failed least: a dead rail that fails slowly must not keep the others from their turn. */
  private @Nullable Path mostHopeful() {
    Path best = null;
    for (Path p : paths) {
      if (mayOpen(p) && (best == null || p.failures < best.failures)) {
        best = p;
      }
    }
    return best;
  }

  private long nextOpening(long latest) {
    long soonest = session == 0 && mustNotAskForSession() ? now + settings.reopenMinNanos() : now;
    long next = latest;
    for (Path p : paths) {
      if (p.current == null && !p.opening) {
        next = earlier(next, soonest - p.reopenAt < 0 ? p.reopenAt : soonest);
      }
    }
    return next;
  }

  /**
   * One HELLO at a time asks for a new session, or each would end the one before. One that was sent in the session that
   * is over is answered with a new one, too: it is waited for, but not for long, since its rail may be dead.
   */
  private boolean mustNotAskForSession() {
    return openingSession > 0 || (opening > 0 && now - sessionOverAt < settings.heartbeatNanos());
  }

  private void open(Path p) {
    if (p.nextGeneration > 0xffff) {
      Path fresh = new Path(nextPathId++, p.tierIndex, p.tier, p.route, p.flight, now);
      paths.set(paths.indexOf(p), fresh);
      pathsSeen = List.copyOf(paths);
      open(fresh);
      return;
    }
    openingSession += session == 0 ? 1 : 0;
    open(p, p.nextGeneration++, session);
  }

  private void open(Path p, int generation, int asked) {
    p.opening = true;
    opening++;
    Hello hello =
        new Hello(
            localName,
            localEpoch,
            peer.name(),
            peer.epoch(),
            asked,
            window.base(),
            new PathKey(p.id, generation),
            p.tier.transport(),
            p.route.remote());
    OpenRequest request =
        new OpenRequest(
            hello,
            p.route.local(),
            peer.addresses(),
            p.tier.description(),
            upCount > 0 && p.everUp
                ? Math.min(settings.connectTimeoutNanos(), PROBE_NANOS)
                : settings.connectTimeoutNanos());
    host.opener().open(request, result -> tell(() -> opened(p, hello, result)));
  }

  private void opened(Path p, Hello hello, OpenResult result) {
    p.opening = false;
    opening--;
    if (hello.leaves()) {
      if (result instanceof OpenResult.Opened(Connection connection, Welcome welcome)) {
        discard(p, hello, connection);
      }
      return;
    }
    openingSession -= hello.session() == 0 ? 1 : 0;
    switch (result) {
      case OpenResult.Opened(Connection connection, Welcome welcome) -> {
        if (state == State.CLOSED || state == State.REFUSED || tooLate(hello, welcome)) {
          discard(p, hello, connection);
        } else {
          up(p, hello, connection, welcome);
        }
      }
      case OpenResult.Refused(Refusal refusal) -> refused(p, refusal);
      case OpenResult.Failed(PathFault fault) -> {
        notOpened(p, fault.toString());
        noteRefusal(fault);
      }
    }
  }

  /** A welcome into a session that we have left meanwhile, or into one that a later HELLO of ours is about to end. */
  private boolean tooLate(Hello hello, Welcome welcome) {
    if (session == hello.session() || session == welcome.session()) {
      return false;
    }
    boolean fresh = session == 0 && welcome.session() != hello.session();
    return !fresh || openingSession > 0;
  }

  private void discard(Path p, Hello hello, Connection connection) {
    PathGeneration g = new PathGeneration(this, p, hello.key(), newIndex(), -1, connection);
    byIndex[g.index] = g;
    connection.attach(host.waitSet());
    live.add(g);
    upCount++;
    fail(g, new PathFault(PathFault.Kind.ABORTED, "its session is over"));
    p.reopenAt = now + settings.reopenMinNanos();
    nextEvent = now;
  }

  private void up(Path p, Hello hello, Connection connection, Welcome welcome) {
    if (session != 0 && welcome.session() != session && !rules.mayCrossSessions()) {
      for (PathGeneration g : List.copyOf(live)) {
        fail(g, new PathFault(PathFault.Kind.ABORTED, "the peer ended the session"));
      }
      sessionOver(peer.name() + " ended the session, since it had not heard of us in time or revoked a grant");
    }
    boolean fresh = session != welcome.session();
    session = welcome.session();
    if (fresh) {
      initiation.newSession(welcome.notificationLimit());
      settlements.newSession(session);
    }
    PathGeneration g = new PathGeneration(this, p, hello.key(), newIndex(), session, connection);
    byIndex[g.index] = g;
    g.lendsBytes = (welcome.capabilities() & Capabilities.BYTE_CREDITS) != 0;
    g.lastProgress = connection.progress();
    g.lastProgressAt = now;
    g.upAt = now;
    g.signs = connection.signsOfLife();
    connection.attach(host.waitSet());
    live.add(g);
    upCount++;
    p.current = g;
    if (!p.everUp) {
      p.everUp = true;
      synchronized (unused) {
        unused.remove(p.tier.transport());
      }
    }
    everUp = true;
    lastHeard = now;
    lostReported = false;
    departure = "";
    refusals = 0;
    if (state == State.CONNECTING) {
      state = State.UP;
    }
    nextEvent = now;
    foreseen.values().removeIf(region -> tellForeseen(g, region));
    initiation.pathUp();
    settlements.wakeAll();
  }

  private void refused(Path p, Refusal refusal) {
    p.lastFault = "refused: " + refusal.message();
    switch (refusal.code()) {
      case WRONG_AGENT ->
        part(
            State.REFUSED,
            Cause.PEER_RESTARTED,
            CloseKind.SESSION,
            "%s is not there under epoch %d any more: %s"
                .formatted(peer.name(), peer.epoch(), refusal.message()),
            "it was refused");
      case VERSION, AUTHENTICATION, SUPERSEDED ->
        part(
            State.REFUSED, Cause.REFUSED, CloseKind.SESSION, peer.name() + " refused: " + refusal.message(),
            "it was refused");
      case CLOSING -> {
        initiation.endAll(Cause.PEER_LOST, peer.name() + " is closing: " + refusal.message());
        notOpened(p, p.lastFault);
        incarnationEnded(peer.name() + " closed its agent");
      }
      case TRANSPORT -> {
        downgrade(p, refusal.message());
        notOpened(p, p.lastFault);
      }
      default -> notOpened(p, p.lastFault);
    }
  }

  /**
   * It listened when it told its addresses, and listens until it closes: if its host says for some time that nobody does,
   * it has closed. Whoever was up, and went, has its lease first, for a network may say the same for it.
   */
  private void noteRefusal(PathFault fault) {
    if (fault.kind() != PathFault.Kind.REFUSED) {
      refusals = 0;
      return;
    }
    if (refusals++ == 0) {
      refusedSince = now;
    }
    if (refusals >= MIN_REFUSALS && now - refusedSince >= REFUSED_NANOS && upCount == 0 && (!everUp || lostReported)) {
      peerEnded("nobody listens at its addresses: %s; it has closed, or a firewall refuses".formatted(fault.detail()));
    }
  }

  private void notOpened(Path p, String why) {
    p.lastFault = why;
    pauseBeforeReopening(p);
    nextEvent = now;
    if (hasPeerLeft() && initiation.isBusy()) {
      // What was posted before it said so: this incarnation does not come back, so there is no lease to wait for.
      initiation.endAll(
          Cause.PEER_LOST,
          "%s, and does not answer any more: %s; fetch its metadata again if it was restarted"
              .formatted(departure, why));
    }
    if (!p.everUp && departure.isEmpty() && p.failures >= 3) { // who left is not reached by anything, whatever the transport
      downgrade(p, why);
    }
  }

  /** A tier that does not come up is passed over, visibly; its paths go on being tried. */
  private void downgrade(Path p, String why) {
    boolean said;
    synchronized (unused) {
      said = unused.put(p.tier.transport(), why) != null;
    }
    if (!said) {
      host.log(
          Level.WARNING,
          "%s to %s does not come up: %s".formatted(p.tier.transport(), peer.name(), why));
    }
    if (p.tierIndex == openTiers - 1 && openTiers < tiers.size()) {
      openTier();
    }
  }

  private int newIndex() {
    for (int i = 0; i < byIndex.length; i++) {
      if (byIndex[i] == null) {
        return i;
      }
    }
    recycleIndices();
    for (int i = 0; i < byIndex.length; i++) {
      if (byIndex[i] == null) {
        return i;
      }
    }
    byIndex = Arrays.copyOf(byIndex, byIndex.length * 2);
    return byIndex.length / 2;
  }

  /** An index may be used again once no transfer remembers its generation. */
  private void recycleIndices() {
    GenerationSet used = new GenerationSet();
    window.forEach(
        entry -> {
          GenerationSet set =
              entry instanceof TransferState t ? t.carried : ((Settling) entry).carried;
          for (int i = set.next(0); i >= 0; i = set.next(i + 1)) {
            used.add(i);
          }
        });
    retired.removeIf(
        g -> {
          if (used.contains(g.index)) {
            return false;
          }
          byIndex[g.index] = null;
          return true;
        });
  }

  // ------------------------------------------------------------------ failure of a generation

  /** Longer each time in a row; what carried data, or stood for the longest pause, begins anew. */
  private void pauseBeforeReopening(Path p) {
    p.failures++;
    long pause = settings.reopenMinNanos() << Math.min(p.failures - 1, 20);
    pause = Math.min(pause, settings.reopenMaxNanos());
    p.reopenAt = now + pause / 2 + host.random(pause / 2 + 1);
  }

  /** The first half of the fence: our own side goes. Idempotent. */
  void fail(PathGeneration g, PathFault fault) {
    if (g.state != PathGeneration.State.UP) {
      return;
    }
    g.state = PathGeneration.State.DRAINING;
    g.fault = fault;
    if (parting && fault.kind() != PathFault.Kind.ABORTED) {
      closeHeard();
    }
    upCount--;
    Path p = g.path;
    p.lastFault = fault.toString();
    if (p.current == g) {
      p.current = null;
      if (fault.kind() == PathFault.Kind.ABORTED) {
        p.reopenAt = now;
      } else {
        if (now - g.upAt > settings.reopenMaxNanos()) {
          p.failures = 0;
        }
        pauseBeforeReopening(p);
      }
    }
    if (fault.kind() != PathFault.Kind.ABORTED && !isClosed()) {
      host.log(Level.INFO, "%s to %s failed: %s".formatted(g, peer.name(), fault));
    }
    g.end.abort();
    if (!rules.drainBeforeEnd()) {
      initiation.wakeAllActive();
    }
    if (rules.mayReplayReadBeforeDrain()) {
      g.replayReadsEarly();
    }
    if (upCount == 0 && state == State.UP) {
      state = State.CONNECTING;
    }
    nextEvent = now;
  }

  private int reapDrained() {
    int work = 0;
    for (int i = live.size() - 1; i >= 0; i--) {
      PathGeneration g = live.get(i);
      if (g.state == PathGeneration.State.DRAINING && g.end.isDrained()) {
        live.remove(i);
        String end = g.end.isBroken() ? "" : g.connection.peerEnd();
        g.end.close();
        g.becomeDead();
        initiation.generationDead(g);
        settlements.generationDead(g);
        for (PathGeneration d : dead) {
          if (d.fenceOn == g) {
            d.fenceOn = null;
          }
        }
        if (g.session == session) {
          dead.add(g);
        } else {
          retire(g); // the target had fenced its whole session before it answered us
        }
        if (!end.isEmpty()) {
          peerEnded(end);
        }
        work++;
      }
    }
    return work;
  }

  private void retire(PathGeneration g) {
    g.becomeFenced();
    retired.add(g);
    initiation.generationFenced(g);
    settlements.generationFenced();
  }

  private int driveFences() {
    int work = 0;
    for (int i = 0; i < dead.size(); i++) {
      PathGeneration g = dead.get(i);
      if (g.fenceOn != null) {
        continue;
      }
      for (int j = 0; j < live.size(); j++) {
        PathGeneration over = live.get(j);
        if (over.isUp()
            && (over.path.id != g.path.id || rules.fenceMayTravelOnSamePath())
            && over.connection.postMessage(0, writer.fence(session, g.key.packed()))) {
          over.connection.flushPosted();
          g.fenceOn = over;
          work++;
          break;
        }
      }
    }
    return work;
  }

  private void fenceAcknowledged(int packedKey) {
    for (int i = 0; i < dead.size(); i++) {
      PathGeneration g = dead.get(i);
      if (g.key.packed() == packedKey) {
        dead.remove(i);
        retire(g);
        return;
      }
    }
  }

  /**
   * The session is over, by the target's word or by our own: nothing of it is replayed. Its
   * generations are all failed already.
   */
  private void sessionOver(String why) {
    session = 0;
    sessionEnd = why;
    sessionOverAt = now;
    initiation.sessionOver();
    settlements.sessionOver();
    for (PathGeneration g : dead) {
      g.becomeFenced(); // frees the slots; orphans replay nothing
      retired.add(g);
    }
    dead.clear();
  }

  // ------------------------------------------------------------------ parting

  /** CLOSE is on its way behind what was posted before; the paths stand until it was received, for the drain time. */
  private boolean parting;

  private long partingUntil;
  private @Nullable Path partingPath;
  private boolean partingHeard;
  private CloseKind partingKind = CloseKind.SESSION;
  private String partingWords = "";

  private void part(State how, Cause cause, CloseKind kind, String why, String said) {
    if (isClosed()) {
      return;
    }
    state = how;
    stateReason = why;
    partingCause = cause;
    if (how == State.REFUSED) {
      host.log(Level.WARNING, why);
    }
    initiation.endAll(cause, why);
    parting = true;
    partingKind = kind;
    partingWords = said;
    partingUntil = now + settings.drainNanos();
    timerAt(partingUntil);
  }

  private int partWhenHeard() {
    boolean everywhere = true;
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp()) {
        g.postClose(partingKind, partingWords);
        everywhere &= g.isCloseHeard();
        partingPath = g.path;
      }
    }
    if (!everywhere && now - partingUntil < 0) {
      return 0;
    }
    int left = session;
    leave();
    Path path = partingPath;
    if (!partingHeard && path != null && left != 0) {
      // It is stuck behind data, and these paths go: it is said once more on a connection of its own.
      open(path, 0, left);
    }
    return 1;
  }

  /** CLOSE was received on some path, or the peer has ended that path itself. */
  void closeHeard() {
    partingHeard = true;
  }

  private void leave() {
    parting = false;
    for (PathGeneration g : List.copyOf(live)) {
      fail(g, new PathFault(PathFault.Kind.ABORTED, stateReason));
    }
    sessionOver(stateReason);
    settlements.forgetAll();
  }

  // ------------------------------------------------------------------ messages

  void creditBack() {
    initiation.creditBack();
  }

  void received(PathGeneration g, ByteBuffer message) {
    MessageType type = reader.read(message);
    if (reader.session() != session || !g.isLive()) {
      return;
    }
    switch (type) {
      case HEARTBEAT_ACK, CREDIT -> initiation.credit(reader.notificationLimit());
      case BYTE_CREDIT -> {
        RouteFlight flight = g.path.flight;
        if (flight != null) {
          flight.lent(reader.byteCredit(), now);
        }
      }
      case FENCE_ACK -> fenceAcknowledged(reader.packedKey());
      case STATE -> {
        if (!settlements.state(reader.transfer(), reader.state())) {
          initiation.state(reader.transfer(), reader.state());
        }
      }
      case CLOSE -> closed(reader.closeKind(), reader.reason());
      default ->
        throw new WireException(type + " arrived at the initiator");
    }
  }

  /** The peer parts, in good order: its paths do not fail. */
  private void closed(CloseKind kind, String reason) {
    String why = peer.name() + (kind == CloseKind.AGENT ? " closed: " : " ended the session: ") + reason;
    if (!isClosed()) {
      host.log(Level.INFO, why);
    }
    for (PathGeneration each : List.copyOf(live)) {
      fail(each, new PathFault(PathFault.Kind.ABORTED, why));
      each.path.reopenAt = now + settings.reopenMinNanos();
    }
    sessionOver(why);
    if (kind == CloseKind.AGENT) {
      initiation.endAll(Cause.PEER_LOST, why);
      incarnationEnded(peer.name() + " closed its agent");
    }
  }

  /** What is posted to it from now on fails at once. A new incarnation has a link of its own. */
  private void peerEnded(String how) {
    if (isClosed() || !departure.isEmpty()) {
      return;
    }
    String why = "%s is gone: %s".formatted(peer.name(), how);
    host.log(Level.WARNING, why);
    for (PathGeneration g : List.copyOf(live)) {
      fail(g, new PathFault(PathFault.Kind.ABORTED, how));
    }
    sessionOver(why);
    initiation.endAll(Cause.PEER_LOST, why);
    incarnationEnded(why);
  }

  /** That it is silent from now on is no news, and it is not knocked at while it closes. */
  private void incarnationEnded(String how) {
    departure = how;
    for (Path p : paths) {
      p.reopenAt = now + settings.reopenMaxNanos();
    }
    nextEvent = now;
  }

  /** Whether the peer's incarnation has ended, and nothing of it is reached any more: it does not come back. */
  boolean hasPeerLeft() {
    return !departure.isEmpty() && upCount == 0;
  }

  /** How it has ended. */
  String departure() {
    return departure;
  }

  /** Why the last session ended. */
  String sessionEnd() {
    return sessionEnd;
  }

  void commitAcknowledged(PathGeneration g, long number, WorkStatus status) {
    initiation.commitAcknowledged(g, number, status);
  }

  void recordAcknowledged(PathGeneration g, long number, WorkStatus status) {
    initiation.recordAcknowledged(g, number, status);
  }

  void generationRead(long number, WorkStatus status) {
    initiation.generationRead(number, status);
  }

  void chunkRefused(
      PathGeneration g, TransferState transfer, long position, WorkStatus status, long detail) {
    initiation.chunkRefused(g, transfer, position, status, detail);
  }

  void brokeUnder(PathGeneration g, TransferState transfer, long position) {
    initiation.brokeUnder(g, transfer, position);
  }

  void chunkEnded(TransferState transfer) {
    initiation.chunkEnded(transfer);
  }

  void wake(TransferState transfer) {
    initiation.wake(transfer);
  }

  // ------------------------------------------------------------------ for the collaborators

  /** How what comes after the link's end ends, and why. */
  Cause partingCause() {
    return partingCause;
  }

  String stateReason() {
    return stateReason;
  }

  RailNearness nearness() {
    return shares.nearness();
  }

  InitiatorRules rules() {
    return rules;
  }

  long now() {
    return now;
  }

  int session() {
    return session;
  }

  TransferWindow<Object> window() {
    return window;
  }

  Settlements settlements() {
    return settlements;
  }

  /** Any thread. */
  long takeTransferNumber() {
    return nextTransfer.getAndIncrement();
  }

  /** The number of the next post; a link that follows this one to the same target goes on from here. Any thread. */
  public long nextTransferNumber() {
    return nextTransfer.get();
  }

  boolean isClosed() {
    return state == State.CLOSED || state == State.REFUSED;
  }

  List<PathGeneration> live() {
    return live;
  }

  int upCount() {
    return upCount;
  }

  PathGeneration generation(int index) {
    PathGeneration g = byIndex[index];
    if (g == null) {
      throw new IllegalStateException("generation index " + index + " was recycled too early");
    }
    return g;
  }

  /** Some generation over which a message can go now; null if none. */
  @Nullable
  PathGeneration anyUp() {
    return anyUp(-1);
  }

  /** The same, on one of these tiers. */
  @Nullable
  PathGeneration anyUp(int tierMask) {
    PathGeneration best = null;
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp()
          && (tierMask & 1 << g.path.tierIndex) != 0
          && (best == null || g.bytesInFlight < best.bytesInFlight)) {
        best = g;
      }
    }
    return best;
  }

  void forEachUp(Consumer<PathGeneration> action) {
    for (int i = 0; i < live.size(); i++) {
      if (live.get(i).isUp()) {
        action.accept(live.get(i));
      }
    }
  }

  /** The reasons of every path that is not up, for errors. */
  String faults() {
    StringBuilder text = new StringBuilder();
    for (Path p : paths) {
      PathGeneration g = p.current;
      if (g == null && !p.lastFault.isEmpty()) {
        text.append("; ").append(p).append(": ").append(p.lastFault);
      } else if (g != null && g.bytesInFlight > 0 && now - g.lastProgressAt > STALLED_NANOS) {
        text.append("; ")
            .append(p)
            .append(": peer stalled, %d bytes under way, nothing came for %d ms"
                .formatted(g.bytesInFlight, (now - g.lastProgressAt) / 1_000_000));
      }
    }
    return text.toString();
  }

  private String whyNotUp() {
    if (state == State.CLOSED || state == State.REFUSED) {
      return stateReason;
    }
    StringBuilder text = new StringBuilder();
    for (Path p : pathsSeen) {
      text.append(text.isEmpty() ? "" : "; ")
          .append(p)
          .append(": ")
          .append(p.lastFault.isEmpty() ? "no answer yet from " + peer.addresses() : p.lastFault);
    }
    return text.toString();
  }

  TransferEnd.Failed failure(
      Cause cause,
      String message,
      @Nullable String rail,
      @Nullable String path,
      long position,
      Notified notified) {
    return new TransferEnd.Failed(cause, message, peer.name(), rail, path, position, notified);
  }

  /** Reads a word of the scratch memory, where a grant's generation was read to. */
  long scratchWord(int index) {
    return host.scratch()
        .segment()
        .asByteBuffer()
        .order(ByteOrder.LITTLE_ENDIAN)
        .getLong(index * 8);
  }

  /** For tests: what is still held. */
  String holdings() {
    return "session=%d live=%s dead=%s window=[%d,%d) %s"
        .formatted(session, live, dead, window.base(), window.end(), initiation);
  }
}
