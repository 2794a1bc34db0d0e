/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.Priority;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.telemetry.FlightRecorder;
import dev.hawser.engine.wire.MessageWriter;
import dev.hawser.engine.wire.RecordKind;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A transfer: the user's handle, and the initiator's state machine's memory of the present post.
 *
 * <p>The settings belong to the user while nothing is posted; {@code status} hands everything over
 * to the link's owner and back.
 */
final class TransferState implements Transfer {
  static final byte[] NO_BYTES = {};

  /** Where the present post stands. */
  enum Phase {
    /** Waits for a path, or for room in the window. */
    QUEUED,
    /** Chunks are posted. */
    DATA,
    /** The grant's generation is read. */
    GRANT,
    /** COMMITs and the record are posted. */
    COMMIT,
    /** Data and record were posted behind one another on one path. */
    CHAINED,
    /** A chained record's path died and is fenced: the target is asked before a replay. */
    QUERY
  }

  private static final int IDLE = 0;
  private static final int ACTIVE = 1;
  private static final int ENDED = 2;

  private static final VarHandle STATUS;
  private static final VarHandle ACKED;
  private static final VarHandle SETTLED;
  private static final RemoteState[] REMOTE_STATES = RemoteState.values();
  private static final int SETTLED_BITS = 3;

  static {
    try {
      STATUS =
          MethodHandles.lookup().findVarHandle(TransferState.class, "status", int.class);
      ACKED = MethodHandles.lookup().findVarHandle(TransferState.class, "acked", long.class);
      SETTLED = MethodHandles.lookup().findVarHandle(TransferState.class, "settled", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final DataRequest.Op op;
  private final OutboundLink link;
  private final TransferPlan plan;
  private final int tiers;

  /** The device whose memory it reads or writes here; that of the host is as near to every rail. */
  final Device device;

  /** Whether memory of some device is among it, here or there. */
  final boolean touchesDevice;

  private final BooleanSupplier ended = this::isEnded;
  private @Nullable BooleanSupplier start;

  // ---- settings: the user's while idle
  private byte[] payload = NO_BYTES;
  private RecordKind recordKind = RecordKind.FLUSH;
  private boolean needsRecord;
  private Priority priority = Priority.BULK;
  private long counter;
  private byte[] requestId = NO_BYTES;
  private long timeoutNanos = 30_000_000_000L;
  private @Nullable GrantCheck grant;
  private @Nullable Consumer<Transfer> callback;

  // ---- hand-over
  private volatile int status = IDLE;
  private volatile boolean cancelRequested;
  private volatile @Nullable TransferEnd end;
  private volatile int waiters;
  private final Object endMonitor = new Object();
  private volatile long id;

  /** What became of which post at the target: a late word about one must not be taken for the next one's. */
  private volatile long settled = settled(0, RemoteState.NOT_APPLICABLE);

  private long acked;
  private long postedAt;

  // ---- the owner's
  Phase phase = Phase.QUEUED;
  long deadline;
  int nextChunk;
  long claimed;

  /** Has nothing in flight, and since when. */
  boolean idle;

  long idleSince;
  int outstanding;
  int stranded;
  private long[] replays = new long[8];
  private int replayCount;

  /** Generations that broke one after the other, without a chunk acknowledged meanwhile; and the last of them. */
  private int broken;
  private int lastBroken = -1;
  final GenerationSet carried = new GenerationSet();

  /** By the generation's index, what it carried; and which path that was. */
  private long[] carriedBytes = new long[4];

  private int[] carriedPath = new int[4];
  final GenerationSet commitSet = new GenerationSet();
  final GenerationSet commitPosted = new GenerationSet();
  final GenerationSet commitAcked = new GenerationSet();
  @Nullable
  PathGeneration recordOn;
  boolean recordAcked;
  boolean recordPosted;
  boolean charged;
  @Nullable
  PathGeneration grantOn;
  private int scratchWord = -1;
  private @Nullable TransferPlan grantPlan;
  private int grantPlanWord = -1;
  private BlockPairs.@Nullable Cursor fitCursor;
  boolean grantRead;
  boolean queryPending;
  @Nullable
  PathGeneration queryOn;
  int session;
  boolean orphan;
  boolean waitsForCredit;
  boolean refused;
  boolean deliveredSaid;
  boolean begun;
  boolean inQueue;
  int activeIndex;
  boolean inSending;
  boolean inReady;

  boolean closing;
  TransferEnd.@Nullable Cause closeCause;
  String closeMessage = "";
  @Nullable
  String closeRail;
  @Nullable
  String closePath;
  long closePosition = -1;
  long drainDeadline;

  TransferState(OutboundLink link, DataRequest.Op op, TransferPlan plan, int tiers) {
    this.tiers = tiers;
    this.device = plan.localRegions() == 0 ? Device.HOST : plan.localRegion(0).device();
    this.touchesDevice = plan.touchesDevice();
    this.link = link;
    this.op = op;
    this.plan = plan;
  }

  // ------------------------------------------------------------------ settings

  @Override
  public Transfer notification(byte @Nullable [] bytes) {
    mustBeIdle();
    if (bytes == null) {
      return plain();
    }
    if (bytes.length > MessageWriter.MAX_PAYLOAD_BYTES) {
      throw new IllegalArgumentException(
          "a notification has at most %d bytes, this one has %d: send a key and transfer the rest"
              .formatted(MessageWriter.MAX_PAYLOAD_BYTES, bytes.length));
    }
    payload = bytes.clone();
    recordKind = RecordKind.NOTIFICATION;
    needsRecord = true;
    return this;
  }

  @Override
  public Transfer count(@Nullable Long newCounter) {
    mustBeIdle();
    if (newCounter == null) {
      return plain();
    }
    counter = newCounter;
    payload = NO_BYTES;
    recordKind = RecordKind.COUNT;
    needsRecord = true;
    return this;
  }

  @Override
  public Transfer flush(boolean flush) {
    mustBeIdle();
    if (recordKind == RecordKind.FLUSH) {
      needsRecord = flush;
    }
    return this;
  }

  @Override
  public Transfer priority(Priority newPriority) {
    mustBeIdle();
    priority = newPriority;
    return this;
  }

  Priority priority() {
    return priority;
  }

  private Transfer plain() {
    payload = NO_BYTES;
    recordKind = RecordKind.FLUSH;
    needsRecord = false;
    return this;
  }

  @Override
  public Transfer requestId(@Nullable String newRequestId) {
    mustBeIdle();
    byte[] bytes =
        newRequestId == null ? NO_BYTES : newRequestId.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MessageWriter.MAX_REQUEST_ID_BYTES) {
      throw new IllegalArgumentException(
          "a request id has at most %d bytes, this one has %d; shorten it"
              .formatted(MessageWriter.MAX_REQUEST_ID_BYTES, bytes.length));
    }
    requestId = bytes;
    return this;
  }

  @Override
  public Transfer timeout(Duration timeout) {
    mustBeIdle();
    if (timeout.isNegative() || timeout.isZero()) {
      throw new IllegalArgumentException("timeout: " + timeout + " leaves no time; give a positive one");
    }
    timeoutNanos = timeout.toNanos();
    return this;
  }

  @Override
  public Transfer grant(@Nullable GrantCheck newGrant) {
    mustBeIdle();
    if (newGrant != null) {
      if (op != DataRequest.Op.READ) {
        throw new IllegalArgumentException(
            "a grant is checked by READs; write grants are revoked by their owner");
      }
      RemoteRegion region = newGrant.region();
      if (!region.contains(newGrant.address(), 8) || (newGrant.address() & 7) != 0) {
        throw new IllegalArgumentException(
            "the grant's generation word at 0x%x is not an aligned word of %s"
                .formatted(newGrant.address(), region));
      }
    }
    grant = newGrant;
    grantPlan = null;
    return this;
  }

  @Override
  public Transfer startsWhen(@Nullable BooleanSupplier condition) {
    mustBeIdle();
    start = condition;
    return this;
  }

  /** Whether what it waits for has come. */
  boolean mayStart() {
    BooleanSupplier condition = start;
    return condition == null || condition.getAsBoolean();
  }

  /** Whether it waits for something that has to be asked for. */
  boolean hasStart() {
    return start != null;
  }

  @Override
  public Transfer onEnd(@Nullable Consumer<Transfer> newCallback) {
    mustBeIdle();
    callback = newCallback;
    return this;
  }

  private void mustBeIdle() {
    if (status == ACTIVE) {
      throw new IllegalStateException(
          "transfer %d to %s is under way: await its end before changing or posting it again"
              .formatted(id, link.peer()));
    }
  }

  // ------------------------------------------------------------------ the user's calls

  @Override
  public void post() {
    hand();
    link.submit(this);
  }

  @Override
  public boolean postAndAwait(Duration timeout) {
    hand();
    link.enqueue(this);
    return await(timeout);
  }

  private void hand() {
    link.mustBeOpen();
    int now = status;
    if (now == ACTIVE || !STATUS.compareAndSet(this, now, ACTIVE)) {
      mustBeIdle();
    }
    retainLocalRegions(now);
    cancelRequested = false;
    end = null;
    long number = link.takeTransferNumber();
    id = number;
    settled = settled(number, RemoteState.PENDING);
    acked = 0;
    postedAt = link.hostNow();
  }

  /** None of them can be closed, nor its memory be unmapped, before the end. */
  private void retainLocalRegions(int before) {
    for (int i = 0; i < plan.localRegions(); i++) {
      if (!plan.localRegion(i).tryRetain()) {
        releaseLocalRegions(i);
        status = before;
        throw new IllegalStateException(
            plan.localRegion(i) + " is closed: prepare the transfer again in a region that is open");
      }
    }
  }

  private void releaseLocalRegions(int count) {
    for (int i = 0; i < count; i++) {
      plan.localRegion(i).release();
    }
  }

  @Override
  public boolean poll() {
    if (status != ACTIVE) {
      return status == ENDED;
    }
    if (!link.help()) {
      Thread.onSpinWait();
    }
    return status == ENDED;
  }

  @Override
  public boolean await(Duration timeout) {
    if (status != ACTIVE) {
      return status == ENDED;
    }
    return link.await(this, ended, timeout);
  }

  private boolean isEnded() {
    return status != ACTIVE;
  }

  @Override
  public void cancel() {
    if (status == ACTIVE) {
      cancelRequested = true;
      link.submit(this);
    }
  }

  @Override
  public @Nullable TransferEnd end() {
    return status == ENDED ? end : null;
  }

  @Override
  public RemoteState remoteSettled() {
    return REMOTE_STATES[(int) settled & (1 << SETTLED_BITS) - 1];
  }

  @SuppressWarnings("EnumOrdinal") // of this process only
  private static long settled(long number, RemoteState state) {
    return number << SETTLED_BITS | state.ordinal();
  }

  @Override
  public long id() {
    return id;
  }

  @Override
  public long totalBytes() {
    return plan.totalBytes();
  }

  @Override
  public long acknowledgedBytes() {
    return (long) ACKED.getOpaque(this);
  }

  // ------------------------------------------------------------------ the owner's

  /** Begins a post: everything of the last one is forgotten. */
  void begin(int inSession) {
    phase = Phase.DATA;
    session = inSession;
    nextChunk = 0;
    claimed = 0;
    idle = false;
    outstanding = 0;
    stranded = 0;
    replayCount = 0;
    broken = 0;
    lastBroken = -1;
    carried.clear();
    Arrays.fill(carriedBytes, 0);
    commitSet.clear();
    commitPosted.clear();
    commitAcked.clear();
    recordOn = null;
    recordAcked = false;
    recordPosted = false;
    charged = false;
    grantOn = null;
    grantRead = false;
    queryPending = false;
    queryOn = null;
    orphan = false;
    waitsForCredit = false;
    refused = false;
    deliveredSaid = false;
    closing = false;
    closeCause = null;
    closeMessage = "";
    closeRail = null;
    closePath = null;
    closePosition = -1;
  }

  void queued() {
    phase = Phase.QUEUED;
    closing = false;
    orphan = false;
    waitsForCredit = false;
    deadline = postedAt + timeoutNanos;
  }

  TransferPlan plan() {
    return plan;
  }

  /** The tiers that reach all of its memory, as a mask. */
  int tiers() {
    return tiers;
  }

  boolean isActive() {
    return status == ACTIVE;
  }

  /** Ended, or about to: nothing of it is replayed any more. */
  boolean isOver() {
    return status != ACTIVE || closing;
  }

  boolean cancelRequested() {
    return cancelRequested;
  }

  /** True once anything of it left this side. */
  boolean touched() {
    return recordPosted || !carried.isEmpty();
  }

  boolean needsRecord() {
    return needsRecord;
  }

  boolean needsCredit() {
    return recordKind == RecordKind.NOTIFICATION;
  }

  RecordKind recordKind() {
    return recordKind;
  }

  long counter() {
    return counter;
  }

  byte[] payload() {
    return payload;
  }

  byte[] requestIdBytes() {
    return requestId;
  }

  @Nullable
  GrantCheck grant() {
    return grant;
  }

  void acknowledged(long bytes) {
    ACKED.setOpaque(this, acked + bytes);
    broken = 0;
    lastBroken = -1;
  }

  /** A chunk of it was acknowledged over this generation. */
  void carriedOver(int generation, int path, long bytes) {
    if (generation >= carriedBytes.length) {
      carriedBytes = Arrays.copyOf(carriedBytes, Math.max(generation + 1, 2 * carriedBytes.length));
      carriedPath = Arrays.copyOf(carriedPath, carriedBytes.length);
    }
    carriedBytes[generation] += bytes;
    carriedPath[generation] = path;
  }

  @Override
  public Map<Integer, Long> bytesByPath() {
    if (status == ACTIVE) {
      return Map.of();
    }
    Map<Integer, Long> paths = new TreeMap<>();
    for (int i = 0; i < carriedBytes.length; i++) {
      if (carriedBytes[i] > 0) {
        paths.merge(carriedPath[i], carriedBytes[i], Long::sum);
      }
    }
    return paths;
  }

  boolean allClaimed() {
    return replayCount == 0 && claimed == plan.totalBytes();
  }

  boolean allAcknowledged() {
    return acked == plan.totalBytes() && replayCount == 0;
  }

  boolean hasReplay() {
    return replayCount > 0;
  }

  long replayPosition() {
    return replays[replayCount * 2 - 2];
  }

  long replayLength() {
    return replays[replayCount * 2 - 1];
  }

  /** Posted, and neither acknowledged nor to be posted again. */
  long bytesUnderWay() {
    long bytes = claimed - acked;
    for (int i = 0; i < replayCount; i++) {
      bytes -= replays[2 * i + 1];
    }
    return bytes;
  }

  /** Takes the first bytes off the replay on top. */
  void tookReplay(long length) {
    int top = replayCount * 2 - 2;
    if (replays[top + 1] == length) {
      replayCount--;
    } else {
      replays[top] += length;
      replays[top + 1] -= length;
    }
  }

  /**
   * A generation broke while it carried some of this.
   *
   * @return how many did, one after the other, since a chunk was last acknowledged
   */
  int brokenUnder(int generation) {
    if (generation != lastBroken) {
      lastBroken = generation;
      broken++;
    }
    return broken;
  }

  void addReplay(long position, long length) {
    if (replayCount * 2 == replays.length) {
      replays = Arrays.copyOf(replays, replays.length * 2);
    }
    replays[replayCount * 2] = position;
    replays[replayCount * 2 + 1] = length;
    replayCount++;
  }

  boolean everyCommitPosted() {
    for (int g = commitSet.next(0); g >= 0; g = commitSet.next(g + 1)) {
      if (!commitPosted.contains(g)) {
        return false;
      }
    }
    return true;
  }

  /** A cursor for cutting chunks; made when it is first needed. */
  BlockPairs.Cursor fitCursor() {
    BlockPairs.Cursor c = fitCursor;
    if (c == null) {
      c = plan.pairs().cursor();
      fitCursor = c;
    }
    return c;
  }

  /** Prepares the read of the grant's generation into a word of scratch memory; false if none is free now. */
  boolean prepareGrantRead(LinkHost host) {
    GrantCheck check = grant;
    if (check == null) {
      throw new IllegalStateException("no grant");
    }
    if (scratchWord < 0) {
      scratchWord = host.takeScratchWord();
    }
    if (scratchWord < 0) {
      return false;
    }
    if (grantPlan == null || grantPlanWord != scratchWord) {
      Region scratch = host.scratch();
      grantPlan =
          new TransferPlan(
              BlockPairs.of(
                  BlockList.of(scratch.address() + 8L * scratchWord, 8),
                  BlockList.of(check.address(), 8)),
              new Region[] {scratch},
              new RemoteRegion[] {check.region()});
      grantPlanWord = scratchWord;
    }
    return true;
  }

  TransferPlan grantPlan() {
    TransferPlan p = grantPlan;
    if (p == null) {
      throw new IllegalStateException("grant read was not prepared");
    }
    return p;
  }

  int scratchWord() {
    return scratchWord;
  }

  void releaseScratch(LinkHost host) {
    if (scratchWord >= 0) {
      host.releaseScratchWord(scratchWord);
      scratchWord = -1;
    }
  }

  /** The target's word about one post; nothing if it was posted again meanwhile. */
  void settle(long number, RemoteState state) {
    SETTLED.compareAndSet(this, settled(number, RemoteState.PENDING), settled(number, state));
  }

  /** The end: hands the transfer back to the user. Nothing of it is touched afterwards. */
  void finish(TransferEnd newEnd, RemoteState newRemote) {
    releaseLocalRegions(plan.localRegions());
    if (newEnd instanceof TransferEnd.Done) {
      ACKED.setOpaque(this, plan.totalBytes()); // also if the target's answer was faster than the acknowledgements, or lived longer
    }
    settled = settled(id, newRemote);
    end = newEnd;
    boolean recorded = FlightRecorder.isOn();
    long took = recorded ? link.hostNow() - postedAt : 0;
    status = ENDED;
    if (recorded) {
      FlightRecorder.transfer(
          link.peer(),
          id,
          new String(requestId, StandardCharsets.UTF_8),
          op.toString(),
          plan.totalBytes(),
          took,
          newEnd.toString(),
          bytesByPath());
    }
    Consumer<Transfer> listener = callback;
    if (listener != null) {
      listener.accept(this);
    }
    if (waiters > 0) {
      synchronized (endMonitor) {
        endMonitor.notifyAll();
      }
    }
  }

  /** Blocks the calling thread until the end or until the time is over. */
  boolean waitForEnd(long nanos) throws InterruptedException {
    long until = System.nanoTime() + nanos;
    synchronized (endMonitor) {
      waiters++;
      try {
        while (status == ACTIVE) {
          long left = until - System.nanoTime();
          if (left <= 0) {
            return false;
          }
          endMonitor.wait(left / 1_000_000, (int) (left % 1_000_000));
        }
        return true;
      } finally {
        waiters--;
      }
    }
  }

  @Override
  public String toString() {
    String name = requestId.length == 0 ? "" : " (request " + new String(requestId, StandardCharsets.UTF_8) + ")";
    return op + " transfer " + id + name + " to " + link.peer();
  }
}
