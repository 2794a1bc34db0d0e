/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.Priority;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.link.TransferState.Phase;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.wire.TargetState;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the initiator does with its transfers: claims and posts their chunks, takes them through
 * commit, and ends them. Owned by the link's owner.
 */
final class Initiation {
  /** So many paths may break under a transfer, one after the other, without anything acknowledged. */
  private static final int MAX_BROKEN = 8;

  /** One of so many parts of the drain time is left for the flush: the end follows within it, not behind it. */
  private static final int DRAIN_PARTS = 4;

  private final OutboundLink link;
  private final LinkHost host;
  private final LinkSettings settings;
  private final InitiatorRules rules;

  /** Posted by the user, waiting for a path or for room in the window. */
  private final ArrayDeque<TransferState> queued = new ArrayDeque<>();
  private boolean startsToAsk; // one of them waits for what has to be asked for

  /** Have bytes to claim; served in turn. */
  private final Turns<TransferState> sending = new Turns<>();

  private final Turns.Server<TransferState> server = this::serve;
  private final RouteFlight.Herald herald;

  /** Something happened to them. */
  private final ArrayDeque<TransferState> ready = new ArrayDeque<>();

  /** Waiting for a notification credit, in order. */
  private final ArrayDeque<TransferState> creditWaiters = new ArrayDeque<>();

  private final List<TransferState> active = new ArrayList<>();
  private final List<TransferState> scratchList = new ArrayList<>();
  private int notificationsSent;
  private int notificationLimit;

  /** By tier: the paths that are up, and the generation of each row. */
  private final PathTable[] tables;

  private final List<List<PathGeneration>> rows = new ArrayList<>();
  private final Device[] tableFor;

  /** By tier: how long its paths were busy between the last two looks at them, and when the last one was. */
  private final long[] busyNanos;

  private long surveyedAt;

  /** Whether something waited for paths when they were looked at last. */
  private boolean waiting;

  /** What was left for each tier of whoever had most left, of those that had their turn in the round before, and in this one. */
  private final long[] mostLeft;

  private final long[] mostSeen;

  /** Where several links share a queue. */
  private final List<RouteFlight> flights = new ArrayList<>();

  private final ChunkPolicy policy;
  private long nextDeadline;
  private boolean haveDeadline;

  Initiation(OutboundLink link, LinkHost host, LinkSettings settings, InitiatorRules rules, int tiers) {
    this.link = link;
    this.host = host;
    this.settings = settings;
    this.rules = rules;
    this.herald = link::demand;
    this.policy = new EarliestPath(settings.minChunkBytes());
    this.tables = new PathTable[tiers];
    this.tableFor = new Device[tiers];
    this.busyNanos = new long[tiers];
    this.mostLeft = new long[tiers];
    this.mostSeen = new long[tiers];
    for (int i = 0; i < tiers; i++) {
      tables[i] = new PathTable();
      tableFor[i] = Device.HOST;
      rows.add(new ArrayList<>());
    }
  }

  void add(RouteFlight flight) {
    flights.add(flight);
  }

  boolean isBusy() {
    return !active.isEmpty() || !queued.isEmpty();
  }

  /** True if notifications wait for the peer to take earlier ones. */
  boolean waitsForCredit() {
    return !creditWaiters.isEmpty();
  }

  /** Whether a transfer waits for something that has to be asked for again and again. */
  boolean asksForStarts() {
    return startsToAsk && !queued.isEmpty() && link.upCount() > 0;
  }

  boolean wantsPump() {
    return !sending.isEmpty() || !queued.isEmpty();
  }

  // ------------------------------------------------------------------ begin

  /** The user posted it, or wants it cancelled. */
  void signalled(TransferState t) {
    if (!t.isActive()) {
      return; // cancelled after its end
    }
    if (!t.begun) {
      if (!t.inQueue) {
        t.inQueue = true;
        t.queued();
        enqueue(t);
        deadlineAt(t.deadline);
      }
      if (t.cancelRequested()) {
        queued.remove(t);
        endQueued(t, new TransferEnd.Cancelled());
      } else if (link.isClosed()) {
        queued.remove(t);
        failQueued(t, link.partingCause(), t + ": " + link.stateReason());
      } else if (link.hasPeerLeft()) {
        queued.remove(t);
        failQueued(
            t,
            Cause.PEER_LOST,
            "%s: %s; fetch its metadata again if it was restarted".formatted(t, link.departure()));
      }
      return;
    }
    if (t.cancelRequested() && !t.closing) {
      close(t, null, "cancelled", null, null, -1);
    }
  }

  /** In the order of their numbers as far as it matters: the lowest one holds the window, and must not wait behind it. */
  private void enqueue(TransferState t) {
    startsToAsk |= t.hasStart();
    TransferState first = queued.peekFirst();
    if (first != null && t.id() - first.id() < 0) {
      queued.addFirst(t);
    } else {
      queued.addLast(t);
    }
  }

  private void failQueued(TransferState t, Cause cause, String why) {
    endQueued(t, link.failure(cause, why, null, null, -1, Notified.NO));
  }

  private void endQueued(TransferState t, TransferEnd end) {
    t.inQueue = false;
    link.window().close(t.id());
    t.finish(end, neverAtTarget(t));
  }

  /**
   * Of what ended before anything of it left this side: no byte of a WRITE will ever land, as if the target had aborted
   * it, whether or not it had been begun; of a READ nothing is ever at the target.
   */
  private static RemoteState neverAtTarget(TransferState t) {
    return t.op == DataRequest.Op.WRITE ? RemoteState.ABORTED : RemoteState.NOT_APPLICABLE;
  }

  private void beginQueued() {
    if (startsToAsk && link.upCount() > 0) {
      beginThoseThatMay();
    }
    while (!queued.isEmpty()
        && link.upCount() > 0
        && !startsToAsk
        && !link.window().isTooFar(queued.element().id())) {
      TransferState t = queued.remove();
      t.inQueue = false;
      begin(t);
    }
  }

  /** As {@link #beginQueued}, past those that wait for something else than room. */
  private void beginThoseThatMay() {
    startsToAsk = false;
    for (int left = queued.size(); left > 0; left--) {
      TransferState t = queued.remove();
      if (link.window().isTooFar(t.id()) || !t.mayStart()) {
        queued.addLast(t);
        startsToAsk |= t.hasStart();
      } else {
        t.inQueue = false;
        begin(t);
      }
    }
  }

  private void begin(TransferState t) {
    t.begun = true;
    t.begin(link.session());
    link.window().put(t.id(), t);
    t.activeIndex = active.size();
    active.add(t);
    if (t.plan().totalBytes() > 0) {
      toSending(t);
    } else {
      wake(t);
    }
  }

  private void toSending(TransferState t) {
    if (!t.inSending) {
      t.inSending = true;
      sending.add(t, t.priority());
    }
  }

  void wake(TransferState t) {
    if (!t.inReady) {
      t.inReady = true;
      ready.add(t);
    }
  }

  void wakeAllActive() {
    for (int i = 0; i < active.size(); i++) {
      wake(active.get(i));
    }
  }

  void pathUp() {
    for (int i = 0; i < active.size(); i++) {
      TransferState t = active.get(i);
      wake(t);
      if (t.phase == Phase.DATA && !t.closing && !t.orphan && !t.allClaimed()) {
        toSending(t);
      }
    }
  }

  // ------------------------------------------------------------------ data phase

  /** Posts what paths have room for, one chunk per transfer in turn. */
  int pump() {
    beginQueued();
    if (sending.isEmpty()) {
      Arrays.fill(mostLeft, 0);
      waiting = false;
      return 0;
    }
    long now = link.now();
    survey(now);
    int posted = sending.pump(server);
    for (int i = 0; i < flights.size(); i++) {
      flights.get(i).report(herald, now);
    }
    for (int i = 0; i < mostSeen.length; i++) {
      mostLeft[i] = mostSeen[i];
      mostSeen[i] = 0;
    }
    waiting = !sending.isEmpty();
    return posted;
  }

  private Turns.Outcome serve(TransferState t) {
    if (!maySend(t)) {
      t.inSending = false;
      return Turns.Outcome.GONE;
    }
    if (!postNext(t)) {
      return Turns.Outcome.WAIT;
    }
    if (!t.allClaimed()) {
      return Turns.Outcome.MORE;
    }
    t.inSending = false;
    chainIfPossible(t);
    return Turns.Outcome.LAST;
  }

  private static boolean maySend(TransferState t) {
    return t.isActive() && t.phase == Phase.DATA && !t.closing && !t.orphan && !t.allClaimed();
  }

  private boolean postNext(TransferState t) {
    boolean replay = t.hasReplay();
    long position = replay ? t.replayPosition() : t.claimed;
    long ofAll = t.plan().totalBytes() - t.claimed;
    long remaining = replay ? t.replayLength() : ofAll;
    int tier = bestTier(t.tiers());
    if (tier < 0) {
      return false;
    }
    mostSeen[tier] = Math.max(mostSeen[tier], ofAll);
    PathTable table = tables[tier];
    if (!tableFor[tier].equals(t.device)) {
      weigh(tier, t.device);
    }
    boolean starved = isStarved(t, table, ofAll, mostLeft[tier], link.now());
    int row = policy.choose(table, remaining, starved, host::random);
    if (row == ChunkPolicy.WAIT) {
      return false;
    }
    PathGeneration g = rows.get(tier).get(row);
    RouteFlight flight = g.path.flight;
    long left = flight == null ? remaining : flight.left(t.op, remaining);
    while (left == 0) {
      table.full(row); // and so are the others of its route, one by one
      row = policy.choose(table, remaining, starved, host::random);
      if (row == ChunkPolicy.WAIT) {
        return false;
      }
      g = rows.get(tier).get(row);
      flight = g.path.flight;
      left = flight == null ? remaining : flight.left(t.op, remaining);
    }
    long share = Math.max(policy.length(table, row, remaining, largestChunk(g)), leastChunk(t, g));
    long wanted = Math.min(Math.min(left, remaining), share);
    long length = fit(t, position, wanted, g.room());
    if (!g.postChunk(t, position, length, link.now())) {
      table.full(row);
      return false;
    }
    table.posted(row, length, g.room() > 0);
    if (flight != null) {
      flight.posted(t.op, length);
    }
    t.outstanding++;
    t.carried.add(g.index);
    if (replay) {
      t.tookReplay(length);
    } else {
      t.claimed += length;
    }
    return true;
  }

  /**
   * True if it does not wait for what others have in flight. Where one has much more left, its paths never have enough to do,
   * and it would take each place that another leaves. Else this is so of what is urgent, if it has nothing in flight or any of
   * BULK would take the place; and of what had nothing in flight for twice as long as what is there takes to get through:
   * others were let in before it, again and again.
   */
  private boolean isStarved(TransferState t, PathTable table, long remaining, long most, long now) {
    boolean besideMuch = most > 4 * (table.inFlightSum() + remaining);
    boolean urgent = t.priority() == Priority.LATENCY;
    if (t.bytesUnderWay() > 0) {
      t.idle = false;
      return besideMuch || (urgent && sending.hasBulk());
    }
    if (!t.idle) {
      t.idle = true;
      t.idleSince = now;
    }
    return besideMuch || urgent || (now - t.idleSince) * table.rateSum() > 2e9 * table.inFlightSum();
  }

  private void weigh(int tier, Device device) {
    tableFor[tier] = device;
    RailNearness nearness = link.nearness();
    for (int i = 0; i < rows.get(tier).size(); i++) {
      tables[tier].nearness(i, device.isHost() ? 1 : rows.get(tier).get(i).path.nearness(device, nearness));
    }
  }

  /** The best tier that has a path up and reaches all of a transfer's memory; −1 if none. */
  private int bestTier(int allowed) {
    for (int tier = 0; tier < tables.length; tier++) {
      if (tables[tier].size() > 0 && (allowed & 1 << tier) != 0) {
        return tier;
      }
    }
    return -1;
  }

  private void survey(long now) {
    long waited = waiting ? now - surveyedAt : 0;
    surveyedAt = now;
    for (int i = 0; i < tables.length; i++) {
      busyNanos[i] = tables[i].inFlightSum() > 0 ? waited : 0;
      tables[i].clear();
      rows.get(i).clear();
      tableFor[i] = Device.HOST;
    }
    for (int i = 0; i < flights.size(); i++) {
      flights.get(i).clear();
    }
    List<PathGeneration> live = link.live();
    for (int i = 0; i < live.size(); i++) {
      PathGeneration g = live.get(i);
      if (g.isUp()) {
        PathPace pace = g.path.pace;
        boolean idle = g.bytesInFlight == 0;
        if (idle) {
          pace.leftOut(busyNanos[g.path.tierIndex]);
        }
        tables[g.path.tierIndex].add(
            pace.rate(idle, now), g.bytesInFlight, pace.flight(mostInFlight(g)), g.room() > 0);
        rows.get(g.path.tierIndex).add(g);
        RouteFlight flight = g.path.flight;
        if (flight != null) {
          flight.add(g, mostInFlight(g));
        }
      }
    }
  }

  private int largestChunk(PathGeneration g) {
    int preferred = g.path.tier.traits().preferredChunkBytes();
    // What moves by itself, at the speed of memory, is kept busy by large requests only.
    return g.path.tier.traits().mapped() && !g.path.tier.traits().synchronous()
        ? preferred
        : Math.min(settings.maxChunkBytes(), preferred);
  }

  /** What goes through slots of a device goes in few pieces, though the last of them end later than smaller ones would. */
  private int leastChunk(TransferState t, PathGeneration g) {
    return t.touchesDevice ? Math.min(g.path.tier.traits().stagedChunkBytes(), largestChunk(g)) : 0;
  }

  private long mostInFlight(PathGeneration g) {
    return Math.max(settings.maxBytesInFlight(), 4L * largestChunk(g));
  }

  /** Cuts a chunk to the segments that the connection has room for. */
  private static long fit(TransferState t, long position, long length, int room) {
    BlockPairs pairs = t.plan().pairs();
    if (pairs.size() <= room) {
      return length;
    }
    BlockPairs.Cursor cursor = t.fitCursor();
    cursor.seek(position);
    long fits = 0;
    for (int segments = 0; segments < room && fits < length; segments++) {
      if (!cursor.next(length - fits)) {
        break;
      }
      fits += cursor.length();
    }
    return fits;
  }

  void chunkEnded(TransferState t) {
    if (t.closing || t.orphan || t.allAcknowledged() || t.outstanding == 0) {
      wake(t);
    }
    if (maySend(t)) {
      toSending(t);
    }
  }

  /**
   * A path broke, by itself or by a reset, while it carried a chunk. Once that is the network's fault; if it happens to
   * path after path, and nothing gets through, it is the chunk's: its memory is gone, here or there. To try that for ever
   * would take the paths from all others.
   */
  void brokeUnder(PathGeneration g, TransferState t, long position) {
    int broken = t.brokenUnder(g.index);
    if (broken < MAX_BROKEN) {
      return;
    }
    close(
        t,
        Cause.REMOTE_ACCESS,
        "%s: %d paths broke one after the other while they carried it, and nothing was acknowledged; the last, %s: %s; was memory freed that is registered, here or at %s?"
            .formatted(t, broken, g, g.path.lastFault, link.peer()),
        g.path.route.local().toString(),
        g.key.toString(),
        position);
  }

  void chunkRefused(
      PathGeneration g, TransferState t, long position, WorkStatus status, long detail) {
    Cause cause =
        switch (status) {
          case REMOTE_REGION_CLOSED -> Cause.REMOTE_REGION_CLOSED;
          case LOCAL_ACCESS, LOCAL_UNMAPPED -> Cause.LOCAL_ACCESS;
          default -> Cause.REMOTE_ACCESS;
        };
    String why =
        "%s: %s at byte %d over %s: %s"
            .formatted(
                t,
                status,
                position,
                g,
                ChunkRefusal.explain(t.plan(), link.peer(), status, position, detail, () -> localObstacle(g)));
    t.refused = true;
    close(t, cause, why, g.path.route.local().toString(), g.key.toString(), position);
  }

  private static String localObstacle(PathGeneration g) {
    String known = g.connection.localObstacle();
    return known.isEmpty() ? "is its region still open?" : known;
  }

  // ------------------------------------------------------------------ phases

  /** Advances everything that something happened to. */
  int advanceReady() {
    int work = 0;
    for (int n = ready.size(); n > 0; n--) {
      TransferState t = ready.poll();
      if (t == null) {
        break;
      }
      t.inReady = false;
      if (t.begun) {
        advance(t);
        work++;
      }
    }
    return work;
  }

  private void advance(TransferState t) {
    if (t.orphan) {
      advanceOrphan(t);
      return;
    }
    switch (t.phase) {
      case QUEUED -> {}
      case DATA -> advanceData(t);
      case GRANT -> advanceGrant(t);
      case COMMIT -> advanceCommit(t);
      case CHAINED -> {
        if (t.recordAcked && !t.refused) {
          done(t);
        } else if (t.recordOn == null && !t.closing) {
          afterChainBroke(t);
        }
      }
      case QUERY -> advanceQuery(t);
    }
    if (t.closing && t.isActive()) {
      advanceClosing(t);
    }
  }

  private void advanceData(TransferState t) {
    if (t.closing) {
      return;
    }
    if (!rules.generationAfterData() && t.grant() != null && t.allClaimed() && !t.grantRead) {
      postGrantRead(t); // only a planted fault reads it early
    }
    if (!t.allAcknowledged()) {
      return;
    }
    if (t.op == DataRequest.Op.READ) {
      if (t.grant() != null && !t.grantRead) {
        t.phase = Phase.GRANT;
        advanceGrant(t);
      } else {
        afterRead(t);
      }
    } else if (t.needsRecord()) {
      startCommit(t);
    } else {
      done(t);
    }
  }

  private void advanceGrant(TransferState t) {
    if (t.grantRead) {
      afterRead(t);
    } else if (!t.closing) {
      postGrantRead(t);
    }
  }

  private void postGrantRead(TransferState t) {
    if (t.grantOn != null) {
      return;
    }
    PathGeneration g = link.anyUp(link.tiersFor(grantOf(t).region()));
    if (g == null) {
      return; // pathUp() wakes it
    }
    if (t.prepareGrantRead(host) && g.postGrantRead(t)) {
      t.grantOn = g;
      t.outstanding++;
      g.connection.flushPosted();
    } else {
      wake(t);
    }
  }

  void generationRead(long number, WorkStatus status) {
    TransferState t = active(number);
    if (t == null || t.grantOn == null) {
      return;
    }
    PathGeneration g = t.grantOn;
    t.grantOn = null;
    t.outstanding--;
    if (status != WorkStatus.SUCCESS) {
      close(
          t,
          Cause.REMOTE_ACCESS,
          "%s: the grant's generation word cannot be read over %s (%s): has its owner gone?"
              .formatted(t, g, status),
          g.path.route.local().toString(),
          g.key.toString(),
          -1);
    } else {
      long found = link.scratchWord(t.scratchWord());
      t.grantRead = true;
      if (found != grantOf(t).generation() && rules.generationAgainstGrant()) {
        close(
            t,
            Cause.STALE,
            "%s: the grant is of generation %d, the blocks are of generation %d: they were reused"
                .formatted(t, grantOf(t).generation(), found),
            null,
            null,
            -1);
      }
    }
    wake(t);
  }

  private static GrantCheck grantOf(TransferState t) {
    GrantCheck grant = t.grant();
    if (grant == null) {
      throw new IllegalStateException(t + " has no grant");
    }
    return grant;
  }

  private void afterRead(TransferState t) {
    if (t.closing) {
      return;
    }
    if (!t.needsRecord()) {
      done(t);
      return;
    }
    if (takeCredit(t)) {
      t.phase = Phase.COMMIT;
      t.commitSet.clear();
      advanceCommit(t);
    }
  }

  /** Every generation that carried data must be up or fenced before COMMIT names any. */
  private void startCommit(TransferState t) {
    for (int i = t.carried.next(0); i >= 0; i = t.carried.next(i + 1)) {
      PathGeneration g = link.generation(i);
      if (g.isUnfenced() && !rules.commitMayIgnoreUnfenced(g.holds(t))) {
        return; // woken when it is fenced
      }
    }
    if (link.upCount() == 0 || !takeCredit(t)) {
      return;
    }
    t.phase = Phase.COMMIT;
    t.commitSet.clear();
    for (int i = t.carried.next(0); i >= 0; i = t.carried.next(i + 1)) {
      if (link.generation(i).isUp()) {
        t.commitSet.add(i);
      }
    }
    advanceCommit(t);
  }

  private void advanceCommit(TransferState t) {
    if (!t.closing) {
      for (int i = t.commitSet.next(0); i >= 0; i = t.commitSet.next(i + 1)) {
        PathGeneration g = link.generation(i);
        if (t.commitPosted.contains(i) || !g.isUp()) {
          continue;
        }
        if (g.postCommit(t)) {
          t.commitPosted.add(i);
          t.outstanding++;
          g.connection.flushPosted();
        } else {
          wake(t);
        }
      }
      if (!t.recordAcked && t.recordOn == null) {
        postRecord(t);
      }
    }
    if (isCommitted(t)) {
      done(t);
    }
  }

  private boolean isCommitted(TransferState t) {
    if (rules.postedMeansDone(t.recordPosted, t.everyCommitPosted())) {
      return true;
    }
    if (!t.recordAcked) {
      return false;
    }
    for (int i = t.commitSet.next(0); i >= 0; i = t.commitSet.next(i + 1)) {
      boolean fenced =
          link.generation(i).state == PathGeneration.State.FENCED
              && rules.fenceStandsInForCommit();
      if (!t.commitAcked.contains(i) && !fenced) {
        return false;
      }
    }
    return true;
  }

  /** Posts the record on some path: the point of no return. */
  private void postRecord(TransferState t) {
    PathGeneration g = null;
    for (int i = t.commitSet.next(0); i >= 0 && g == null; i = t.commitSet.next(i + 1)) {
      PathGeneration candidate = link.generation(i);
      g = candidate.isUp() ? candidate : null;
    }
    if (g == null) {
      g = link.anyUp();
    }
    if (g != null && !postRecordOn(t, g)) {
      wake(t);
    }
  }

  private boolean postRecordOn(TransferState t, PathGeneration g) {
    link.writer.beginRecord(
        link.session(), t.id(), link.window().base(), t.recordKind(), t.counter());
    for (int i = t.commitSet.next(0); i >= 0; i = t.commitSet.next(i + 1)) {
      link.writer.addGeneration(link.generation(i).key.packed());
    }
    ByteBuffer record = link.writer.endRecord(t.requestIdBytes(), t.payload());
    if (!g.postRecord(t, record)) {
      return false;
    }
    t.recordOn = g;
    t.recordPosted = true;
    t.outstanding++;
    g.connection.flushPosted();
    return true;
  }

  /**
   * A transfer whose data all went over one path that is up sends its record right behind them: one
   * round trip instead of two.
   */
  private void chainIfPossible(TransferState t) {
    if (t.op != DataRequest.Op.WRITE || !t.needsRecord() || t.closing || t.stranded > 0) {
      return;
    }
    PathGeneration only = null;
    for (int i = t.carried.next(0); i >= 0; i = t.carried.next(i + 1)) {
      PathGeneration g = link.generation(i);
      if (g.state == PathGeneration.State.FENCED) {
        continue;
      }
      if (only != null || !g.isUp()) {
        return;
      }
      only = g;
    }
    if (only == null
        || only.path.tier.traits().synchronous()
        || !only.connection.keepsOrder()
        || !takeCredit(t)) {
      return;
    }
    t.commitSet.clear();
    if (postRecordOn(t, only)) {
      t.phase = Phase.CHAINED;
    }
  }

  /** The path of a chained record died: fence it, then ask, then replay, in this order. */
  private void afterChainBroke(TransferState t) {
    if (rules.fenceBeforeQuery() && hasUnfenced(t)) {
      return; // woken when it is fenced
    }
    if (!rules.chainedNeedsQuery()) {
      backToData(t);
      return;
    }
    t.phase = Phase.QUERY;
    t.queryPending = true;
    t.queryOn = null;
    advanceQuery(t);
  }

  private boolean hasUnfenced(TransferState t) {
    for (int i = t.carried.next(0); i >= 0; i = t.carried.next(i + 1)) {
      if (link.generation(i).isUnfenced()) {
        return true;
      }
    }
    return false;
  }

  private void backToData(TransferState t) {
    t.phase = Phase.DATA;
    t.recordPosted = false;
    t.recordOn = null;
    if (!t.allClaimed()) {
      toSending(t);
    }
    wake(t);
  }

  private void advanceQuery(TransferState t) {
    if (!t.queryPending || t.queryOn != null) {
      return;
    }
    PathGeneration g = link.anyUp();
    if (g == null) {
      return;
    }
    if (g.connection.postMessage(0, link.writer.query(link.session(), t.id(), t.session))) {
      g.connection.flushPosted();
      t.queryOn = g;
    } else {
      wake(t);
    }
  }

  /** The target's answer about a transfer that has not ended here. */
  void state(long number, TargetState state) {
    TransferState t = active(number);
    if (t == null) {
      return;
    }
    t.deliveredSaid |= state == TargetState.DELIVERED; // it may be faster than the last acknowledgement
    if (t.orphan && t.queryPending) {
      t.queryPending = false;
      switch (state) {
        case DELIVERED -> end(t, TransferEnd.Done.DONE, RemoteState.DELIVERED);
        case ABORTED -> endOrphan(t, Notified.NO, RemoteState.ABORTED);
        case OPEN -> {
          t.queryOn = null; // not possible once its session is fenced; ask again
          t.queryPending = true;
        }
      }
      return;
    }
    if (t.phase == Phase.QUERY && t.queryPending) {
      switch (state) {
        case DELIVERED -> done(t);
        case OPEN -> {
          if (rules.fenceBeforeQuery() || !hasUnfenced(t)) {
            t.queryPending = false;
            backToData(t);
          } else if (!rules.fenceBeforeQuery()) {
            t.queryPending = false; // only a planted fault: the answer is older than the fence
            t.phase = Phase.QUERY;
          }
        }
        case ABORTED -> {
          t.recordPosted = false;
          close(t, Cause.SESSION_ENDED, t + ": the target gave it up", null, null, -1);
        }
      }
    }
  }

  void commitAcknowledged(PathGeneration g, long number, WorkStatus status) {
    TransferState t = active(number);
    if (t == null || status != WorkStatus.SUCCESS || t.commitAcked.contains(g.index)) {
      return;
    }
    if (g.isLive()) {
      t.outstanding--;
    }
    t.commitAcked.add(g.index);
    wake(t);
  }

  void recordAcknowledged(PathGeneration g, long number, WorkStatus status) {
    TransferState t = active(number);
    if (t == null || status != WorkStatus.SUCCESS || t.recordOn != g || t.recordAcked) {
      return;
    }
    t.outstanding--;
    t.recordAcked = true;
    wake(t);
  }

  // ------------------------------------------------------------------ paths die

  /** Our side of it is drained: what was posted there besides chunks is lost or repeated. */
  void generationDead(PathGeneration g) {
    for (int i = 0; i < active.size(); i++) {
      TransferState t = active.get(i);
      if (t.recordOn == g && !t.recordAcked) {
        t.recordOn = null;
        t.outstanding--;
      }
      if (t.commitPosted.contains(g.index) && !t.commitAcked.contains(g.index)) {
        t.outstanding--; // the fence stands in for it
      }
      if (t.grantOn == g) {
        t.grantOn = null;
        t.outstanding--;
      }
      if (t.queryOn == g) {
        t.queryOn = null;
      }
      wake(t);
      if (maySend(t)) {
        toSending(t);
      }
    }
  }

  void generationFenced(PathGeneration g) {
    for (int i = 0; i < active.size(); i++) {
      TransferState t = active.get(i);
      if (t.carried.contains(g.index)) {
        wake(t);
        if (maySend(t)) {
          toSending(t);
        }
      }
    }
  }

  // ------------------------------------------------------------------ sessions

  void newSession(int limit) {
    notificationsSent = 0;
    notificationLimit = limit;
    flights.forEach(RouteFlight::forgetCredit);
    for (int i = 0; i < active.size(); i++) {
      if (!active.get(i).orphan) {
        active.get(i).session = link.session();
      }
    }
  }

  void credit(int limit) {
    if (limit - notificationLimit > 0) {
      notificationLimit = limit;
    }
    while (!creditWaiters.isEmpty() && notificationLimit - notificationsSent > 0) {
      TransferState t = creditWaiters.remove();
      t.waitsForCredit = false;
      wake(t);
    }
  }

  void creditBack() {
    notificationsSent--;
    credit(notificationLimit);
  }

  private boolean takeCredit(TransferState t) {
    if (!t.needsCredit() || t.charged) {
      return true;
    }
    if (notificationLimit - notificationsSent > 0) {
      notificationsSent++;
      t.charged = true;
      return true;
    }
    if (!t.waitsForCredit) {
      t.waitsForCredit = true;
      creditWaiters.add(t);
    }
    return false;
  }

  /** What began in the session and is not over becomes an orphan: it is asked about, not replayed. */
  void sessionOver() {
    creditWaiters.forEach(t -> t.waitsForCredit = false);
    creditWaiters.clear();
    for (int i = 0; i < active.size(); i++) {
      TransferState t = active.get(i);
      t.charged = false;
      if (t.touched() || t.outstanding > 0) {
        t.orphan = true;
        t.queryPending = true;
        t.queryOn = null;
      }
      wake(t);
    }
  }

  private void advanceOrphan(TransferState t) {
    if (t.outstanding > 0 && rules.drainBeforeEnd()) {
      return; // our own side first
    }
    if (t.closing) {
      endClosing(t);
      return;
    }
    if (t.recordPosted && t.deliveredSaid) {
      done(t);
      return;
    }
    if (t.op == DataRequest.Op.READ && !t.recordPosted) {
      endOrphan(t, Notified.NO, RemoteState.NOT_APPLICABLE);
      return;
    }
    if (link.session() != 0) {
      advanceQuery(t);
    }
  }

  private void endOrphan(TransferState t, Notified notified, RemoteState remote) {
    end(
        t,
        link.failure(
            Cause.SESSION_ENDED,
            t + ": " + link.sessionEnd(),
            null,
            null,
            -1,
            notified),
        remote);
  }

  // ------------------------------------------------------------------ end

  /** Begins the end of a transfer; it follows when our own side is drained. */
  private void close(
      TransferState t,
      @Nullable Cause cause,
      String message,
      @Nullable String rail,
      @Nullable String path,
      long position) {
    if (t.closing) {
      return;
    }
    t.closing = true;
    t.closeCause = cause;
    t.closeMessage = message;
    t.closeRail = rail;
    t.closePath = path;
    t.closePosition = position;
    t.drainDeadline = link.now() + settings.drainNanos() / DRAIN_PARTS * (DRAIN_PARTS - 1);
    deadlineAt(t.drainDeadline);
    if (t.waitsForCredit) {
      creditWaiters.remove(t);
      t.waitsForCredit = false;
    }
    withdraw(t);
    wake(t);
  }

  /** What has not left or come is not worth waiting for, unless what leaves behind it would pass for the whole. */
  private void withdraw(TransferState t) {
    if (t.op == DataRequest.Op.WRITE && t.phase != Phase.DATA && !rules.mayWithdrawBehindRecord()) {
      return;
    }
    for (PathGeneration g : link.live()) {
      if (g.isUp() && (g.holds(t) || t.grantOn == g)) {
        g.connection.withdraw(t.id());
      }
    }
  }

  private void advanceClosing(TransferState t) {
    if (t.outstanding > 0 && rules.drainBeforeEnd()) {
      if (link.now() - t.drainDeadline >= 0) {
        failWhatHolds(t);
      }
      return;
    }
    endClosing(t);
  }

  private void failWhatHolds(TransferState t) {
    PathFault why = new PathFault(PathFault.Kind.ABORTED, "drained for the end of " + t);
    for (PathGeneration g : List.copyOf(link.live())) {
      boolean flush =
          t.commitPosted.contains(g.index) && !t.commitAcked.contains(g.index);
      if (g.isUp() && (g.holds(t) || flush || t.recordOn == g || t.grantOn == g)) {
        link.fail(g, why);
      }
    }
  }

  private void endClosing(TransferState t) {
    boolean posted = t.recordPosted;
    if (posted && t.deliveredSaid && !t.refused) {
      done(t); // the target's word may come, and be the last, before its acknowledgements are looked at
      return;
    }
    if (t.charged && !posted) {
      t.charged = false;
      creditBack();
    }
    Notified notified =
        // a refused chunk stops the record that was chained behind it
        t.refused
            ? Notified.NO
            : t.closeCause == Cause.PEER_RESTARTED
                ? rules.notifiedAfterRestart(posted)
                : rules.notified(posted, t.everyCommitPosted());
    Cause cause = t.closeCause;
    TransferEnd end =
        cause == null && notified == Notified.NO
            ? new TransferEnd.Cancelled()
            : link.failure(
                cause == null ? Cause.CANCELLED : cause,
                cause == null
                    ? t
                        + ": cancelled behind the point of no return, and "
                        + link.peer()
                        + " did not acknowledge in time: it may have been delivered, remoteSettled() will tell"
                    : t.closeMessage,
                t.closeRail,
                t.closePath,
                t.closePosition,
                notified);
    boolean owed = (t.op == DataRequest.Op.WRITE && !t.carried.isEmpty()) || posted;
    if (!owed) {
      end(t, end, neverAtTarget(t));
    } else if (t.closeCause == Cause.PEER_RESTARTED || link.isClosed()) {
      end(t, end, RemoteState.UNKNOWN); // nobody will answer, or be asked
    } else {
      link.settlements().abort(t);
      endUnsettled(t, end);
    }
  }

  private void done(TransferState t) {
    if (t.recordPosted && t.deliveredSaid) {
      end(t, TransferEnd.Done.DONE, RemoteState.DELIVERED);
    } else if (t.recordPosted && link.isClosed()) {
      end(t, TransferEnd.Done.DONE, RemoteState.UNKNOWN);
    } else if (t.recordPosted) {
      link.settlements().awaitDelivered(t);
      endUnsettled(t, TransferEnd.Done.DONE);
    } else {
      end(t, TransferEnd.Done.DONE, RemoteState.NOT_APPLICABLE);
    }
  }

  private void end(TransferState t, TransferEnd end, RemoteState remote) {
    link.window().close(t.id());
    forget(t);
    t.finish(end, remote);
  }

  private void endUnsettled(TransferState t, TransferEnd end) {
    forget(t);
    t.finish(end, RemoteState.PENDING);
  }

  private void forget(TransferState t) {
    t.releaseScratch(host);
    t.begun = false;
    TransferState last = active.removeLast();
    if (last != t) {
      active.set(t.activeIndex, last);
      last.activeIndex = t.activeIndex;
    }
    if (t.waitsForCredit) {
      creditWaiters.remove(t);
      t.waitsForCredit = false;
    }
    if (t.inSending) {
      sending.remove(t);
      t.inSending = false;
    }
    if (t.inReady) {
      ready.remove(t);
      t.inReady = false;
    }
  }

  /** Every transfer ends, with this cause; our own side is being drained. */
  void endAll(Cause cause, String why) {
    for (TransferState t = queued.poll(); t != null; t = queued.poll()) {
      failQueued(t, cause, t + ": " + why);
    }
    for (TransferState t : List.copyOf(active)) {
      if (t.closing) {
        wake(t);
      } else {
        close(t, cause, t + ": " + why, null, null, -1);
      }
      if (t.orphan && cause == Cause.PEER_RESTARTED) {
        t.closeCause = cause;
      }
    }
  }

  // ------------------------------------------------------------------ deadlines

  private void deadlineAt(long time) {
    if (!haveDeadline || time - nextDeadline < 0) {
      nextDeadline = time;
      haveDeadline = true;
      link.timerAt(time);
    }
  }

  /** Ends what is over its time; returns when to look again. */
  long checkDeadlines() {
    long now = link.now();
    if (!haveDeadline || now - nextDeadline < 0) {
      return haveDeadline ? nextDeadline : now + settings.leaseNanos();
    }
    haveDeadline = false;
    nextDeadline = now + settings.leaseNanos();
    scratchList.clear();
    scratchList.addAll(queued);
    for (int i = 0; i < scratchList.size(); i++) {
      TransferState t = scratchList.get(i);
      if (now - t.deadline >= 0) {
        queued.remove(t);
        failQueued(
            t,
            Cause.DEADLINE_EXCEEDED,
            "%s was not begun in time: no path to %s is up%s"
                .formatted(t, link.peer(), link.faults()));
      } else {
        deadlineAt(t.deadline);
      }
    }
    for (int i = 0; i < active.size(); i++) {
      TransferState t = active.get(i);
      if (t.closing) {
        if (now - t.drainDeadline >= 0) {
          wake(t);
          if (t.outstanding > 0) {
            deadlineAt(now + settings.drainNanos());
          }
        } else {
          deadlineAt(t.drainDeadline);
        }
      } else if (now - t.deadline >= 0) {
        boolean backlog = t.waitsForCredit;
        close(
            t,
            backlog ? Cause.NOTIFICATION_BACKLOG : Cause.DEADLINE_EXCEEDED,
            backlog
                ? "%s: %s has %d notifications that it has not taken; it must poll them"
                    .formatted(t, link.peer(), notificationsSent)
                : "%s: %d of %d bytes were acknowledged at the deadline%s"
                    .formatted(t, t.acknowledgedBytes(), t.totalBytes(), link.faults()),
            null,
            null,
            t.acknowledgedBytes());
      } else {
        deadlineAt(t.deadline);
      }
    }
    scratchList.clear();
    return nextDeadline;
  }

  private @Nullable TransferState active(long number) {
    // 60 bits travel in work ids: enough to find it in the window
    long base = link.window().base();
    long full = base + ((number - base) & ((1L << 60) - 1));
    return link.window().get(full) instanceof TransferState t && t.isActive() ? t : null;
  }

  @Override
  public String toString() {
    return "active=%s queued=%d sent=%d limit=%d"
        .formatted(active, queued.size(), notificationsSent, notificationLimit);
  }
}
