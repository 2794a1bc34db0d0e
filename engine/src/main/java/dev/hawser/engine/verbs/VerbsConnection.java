/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.NativeBlock;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.Staging;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.engine.verbs.abi.WcStatuses;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.ffi.Errno;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * One end of a path: a queue pair, its completion queue and what was posted on it.
 *
 * <p>The stream of the bootstrap stays open beside it and carries nothing: its end tells at once that the peer's process is
 * gone. The initiator's first message is empty and tells the target that its queue pair listens; before it the target only
 * collects what it has to say.
 */
final class VerbsConnection implements Connection, AsyncEvents.Listener, Line {
  /** Bytes of messages under way; all that are kept back fit twice. */
  private static final int MESSAGE_BYTES = 640 << 10;

  private static final int MAX_MESSAGE_BYTES = SharedReceiveQueue.SLOT_BYTES;
  private static final int RESERVED_MESSAGE_BYTES = (RESERVED_MESSAGES + 3) * MAX_MESSAGE_BYTES;

  /** Bytes of data under way at most: many times what fills 400 Gb/s. */
  private static final long MOST_IN_FLIGHT = 16 << 20;

  /** At least, and at first: a sign of life is posted behind them, and must not be late on a slow link. */
  private static final long FEWEST_IN_FLIGHT = 512 << 10;

  private static final long FIRST_IN_FLIGHT = 1 << 20;

  /** Data that take longer than this wait for each other: fewer are posted ahead. */
  private static final long SLOW_NANOS = 50_000_000;

  private static final long FAST_NANOS = 10_000_000;

  /** Where nothing is to be gained, one request of so many is timed. */
  private static final int TIMED = 16;

  private static final int COMPLETIONS = 32;
  private static final int ROUNDS = 8;
  private static final int REPORTS = 256;
  private static final int HELD_RECEIVES = 32;
  private static final int IDLE_POLLS = 1 << 10;

  /** How long a device that does not tell of the last receive may still work at it, once the queue pair is in error. */
  private static final long QUIET_NANOS = 10_000_000;

  /** A device that has not flushed a queue pair in this time is dead. */
  private static final long FLUSH_NANOS = 5_000_000_000L;

  private enum State {
    OPEN, FAILED, ABORTED, CLOSED
  }

  private final PathKey key;
  private final boolean initiator;
  private final String peer;
  private final VerbsRail rail;
  private final VerbsContext context;
  private final QueuePair pair;
  private final BootstrapStream stream;
  private final AsyncEvents events;
  private final Teardown teardown;
  private final int binderIndex;
  private final int deviceIndex;
  private final String endpoints;

  private final NativeBlock block;
  private final long messages;
  private final long completions;
  private final long scratch;
  private final long messageRegion;
  private final int messageKey;
  private final SendQueue queue;
  private final SharedReceiveQueue receives;
  private final ByteBuffer slots;
  private final int[] held = new int[HELD_RECEIVES];
  private int holding;

  private final SegmentCursor cursor = new SegmentCursor();
  private final RemoteKeys remoteKeys;
  private final int maxPiece;
  private @Nullable Region lastLocal;
  private @Nullable DeviceKeys lastKeys;

  // Memory of devices that no NIC registers. Most paths never meet any: what serves it is made when they do.
  private final MemoryRegistry registry;
  private final Staging deviceStaging;
  private @Nullable PathStaging staging;
  private @Nullable StagedRequests staged; // the initiator's
  private @Nullable StagedMoves moves; // the target's
  private boolean letGoOfDevices;

  private long mostInFlight = FIRST_IN_FLIGHT;
  private boolean timing; // one request at a time is timed, and once the most may be under way, few
  private int untimed;
  private long timedUntil;
  private long timedSince;

  private long messageHead;
  private long messageTail;

  private volatile State state = State.OPEN;
  private boolean listening; // the other end's queue pair takes messages
  private @Nullable PathFault fault;
  private boolean faultReported;
  private boolean lastLook;
  private boolean quiet;
  private long errorAt;
  private boolean inError;
  private long received;
  private long lastSuccess;
  private @Nullable WaitSet waitSet;
  private boolean armed;
  private int stashed;
  private int idlePolls;
  private boolean streamOpen = true; // guarded by streamLock
  private final Object streamLock = new Object();

  // Written by the thread of asynchronous events.
  private volatile @Nullable PathFault asyncFault;
  private volatile boolean lastReceiveReached;
  private volatile boolean deviceGone;

  VerbsConnection(
      PathKey key,
      boolean initiator,
      String peer,
      VerbsRail rail,
      QueuePair pair,
      QpCard remote,
      BootstrapStream stream,
      AsyncEvents events,
      Teardown teardown,
      int binderIndex,
      int deviceIndex,
      MemoryRegistry registry,
      Staging staging) {
    this.key = key;
    this.initiator = initiator;
    this.peer = peer;
    this.rail = rail;
    this.context = rail.device().context();
    this.pair = pair;
    this.stream = stream;
    this.events = events;
    this.teardown = teardown;
    this.binderIndex = binderIndex;
    this.deviceIndex = deviceIndex;
    this.endpoints =
        "QP 0x%x to 0x%x, GID %s to %s, MTU %d"
            .formatted(pair.number(), remote.qpNumber(), rail.gid(), remote.gid(), pair.mtuBytes(remote));
    long queueBytes = SendQueue.nativeBytes(pair.depth());
    long completionBytes = (long) COMPLETIONS * VerbsAbi.Wc.BYTES;
    this.block = NativeBlock.map(MESSAGE_BYTES + queueBytes + completionBytes + 64);
    this.messages = block.address();
    this.completions = messages + MESSAGE_BYTES + queueBytes;
    this.scratch = completions + completionBytes;
    try {
      this.messageRegion =
          context.registerMemory(rail.device().pd(), messages, MESSAGE_BYTES, VerbsAbi.AccessFlags.LOCAL_WRITE);
    } catch (RuntimeException e) {
      block.close();
      throw e;
    }
    this.messageKey = RawMemory.u32(messageRegion + VerbsAbi.Mr.LKEY);
    this.queue = new SendQueue(pair.depth(), messages + MESSAGE_BYTES, pair.maxInline());
    this.receives = rail.receives();
    this.slots = receives.view();
    this.remoteKeys = new RemoteKeys(remote.device());
    long longest = rail.attributes().maxMessageBytes();
    this.maxPiece = longest == 0 ? 1 << 30 : (int) Math.min(longest, 1 << 30);
    this.registry = registry;
    this.deviceStaging = staging;
    this.lastSuccess = System.nanoTime();
    this.listening = initiator;
    events.listen(pair, rail, this);
  }

  /** The initiator's first message, by which the target knows that answers arrive. */
  void greet() {
    queue.postMessage(0, messages, messageKey, 0, -1);
    flushPosted();
  }

  @Override
  public PathKey key() {
    return key;
  }

  @Override
  public String describe() {
    return "verbs path " + key + (initiator ? " to " : " from ") + peer + " on rail " + rail.describe() + ", "
        + endpoints
        + " (" + state + ")";
  }

  // ------------------------------------------------------------------ posting

  @Override
  public int segmentBudget() {
    if (!initiator
        || state != State.OPEN
        || queue.bytesInFlight() >= mostInFlight
        || !queue.hasDataWork()
        || !messageRoom()) {
      return 0;
    }
    return queue.room();
  }

  @Override
  public int maxSegments() {
    return queue.most() / 2;
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    if (!initiator) {
      throw new IllegalStateException(describe() + ": only the initiator's end posts requests");
    }
    if (segmentBudget() == 0) {
      return false;
    }
    boolean read = request.op() == DataRequest.Op.READ;
    cursor.start(request.plan(), request.position(), request.length());
    while (cursor.next()) {
      WorkStatus usable = select(cursor.localRegion(), cursor.remoteRegion(), read);
      if (usable != WorkStatus.SUCCESS) {
        queue.discardDraft();
        return staged().post(workId, request); // or is refused there
      }
      if (!draft(read, cursor.localAddress(), cursor.remoteAddress(), cursor.length())) {
        queue.discardDraft();
        return false;
      }
    }
    queue.postDraft(workId, request.length());
    posted();
    return true;
  }

  /** Times some of the data. */
  @Override
  public void posted() {
    if (!timing && (mostInFlight < MOST_IN_FLIGHT || ++untimed >= TIMED)) {
      timing = true;
      untimed = 0;
      timedUntil = queue.next();
      timedSince = System.nanoTime();
    }
  }

  @Override
  public String localObstacle() {
    return staged == null ? "" : staged.obstacle();
  }

  @Override
  public boolean keepsOrder() {
    return !queue.holdsRefused() && (staged == null || !staged.hasWrites());
  }

  /** Such messages leave the room that is kept back to those of the link. */
  @Override
  public boolean say(ByteBuffer message) {
    return queue.room() > 0 && queue.hasDataWork() && messageRoom() && postMessage(0, message);
  }

  private boolean messageRoom() {
    return MESSAGE_BYTES - (messageTail - messageHead) >= RESERVED_MESSAGE_BYTES;
  }

  /** Lets more data be under way where they end soon, and fewer where they do not. */
  private void adaptFlight() {
    timing = false;
    long nanos = System.nanoTime() - timedSince;
    if (nanos > SLOW_NANOS) {
      mostInFlight = Math.max(FEWEST_IN_FLIGHT, mostInFlight / 2);
    } else if (nanos < FAST_NANOS) {
      mostInFlight = Math.min(MOST_IN_FLIGHT, mostInFlight * 2);
    }
  }

  private @Nullable DeviceKeys keys(Region local) {
    if (local != lastLocal) {
      Object keys = local.binding(binderIndex);
      lastKeys = keys instanceof DeviceKeys[] all ? all[deviceIndex] : null;
      lastLocal = local;
    }
    return lastKeys;
  }

  /** Finds the keys of a segment's regions, which most often are those of the segment before. */
  private WorkStatus select(Region local, RemoteRegion there, boolean read) {
    if (keys(local) == null || (read && !local.writable())) {
      return WorkStatus.LOCAL_ACCESS;
    }
    return remoteKeys.select(there) ? WorkStatus.SUCCESS : WorkStatus.REMOTE_ACCESS;
  }

  private boolean draft(boolean read, long localStart, long remoteStart, long length) {
    DeviceKeys keys = lastKeys;
    Region region = lastLocal;
    if (keys == null || region == null) {
      throw new IllegalStateException("no region selected");
    }
    boolean host = region.device().isHost();
    long local = localStart;
    long there = remoteStart;
    long left = length;
    while (left > 0) {
      long n = Math.min(Math.min(left, maxPiece), Math.min(keys.reach(local), remoteKeys.reach(there)));
      if (!queue.draft(read, local, keys.localKey(local), there, remoteKeys.key(there), (int) n, host)) {
        return false;
      }
      local += n;
      there += n;
      left -= n;
    }
    return true;
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    if (!initiator) {
      throw new IllegalStateException(describe() + ": only the initiator's end posts flushes");
    }
    if (state != State.OPEN || !queue.hasRoom() || (staged != null && !staged.letsFlush())) {
      return false;
    }
    queue.postImmediate(workId, (int) transfer << 1 | (abort ? 1 : 0));
    return true;
  }

  @Override
  public boolean postMessage(long workId, ByteBuffer message) {
    int length = message.remaining();
    if (length > MAX_MESSAGE_BYTES || length == 0) {
      throw new IllegalArgumentException(
          "a message of " + length + " bytes; 1 to " + MAX_MESSAGE_BYTES + " are carried");
    }
    if (state != State.OPEN || !queue.hasRoom()) {
      return false;
    }
    long at = messageTail;
    int offset = (int) (at % MESSAGE_BYTES);
    if (offset + length > MESSAGE_BYTES) {
      at += MESSAGE_BYTES - offset;
      offset = 0;
    }
    long end = (at + length + 63) & -64L;
    if (end - messageHead > MESSAGE_BYTES) {
      return false;
    }
    messageTail = end;
    block.put(offset, message);
    queue.postMessage(workId, messages + offset, messageKey, length, end);
    return true;
  }

  @Override
  public void flushPosted() {
    if (state != State.OPEN || !listening || !queue.hasUnrung()) {
      return;
    }
    RawMemory.u64(scratch, 0);
    int errno = context.postSend(pair.address(), queue.chain(), scratch);
    queue.chainPosted(errno == 0 ? 0 : RawMemory.u64(scratch));
    if (errno != 0) {
      fail(PathFault.Kind.WORK_ERROR, "ibv_post_send failed: " + Errno.describe(Math.abs(errno)));
    }
  }

  // ------------------------------------------------------------------ completions

  @Override
  public int poll(ConnectionEvents to) {
    if (state == State.CLOSED) {
      return 0;
    }
    int work = 0;
    boolean empty = false;
    for (int round = 0; round < ROUNDS && !empty; round++) {
      int n = stashed;
      stashed = 0;
      if (n == 0) {
        n = context.pollCq(pair.cq(), COMPLETIONS, completions);
      }
      if (n < 0) {
        fail(PathFault.Kind.WORK_ERROR, "ibv_poll_cq failed: " + n);
        break;
      }
      empty = n == 0;
      work += n;
      for (int i = 0; i < n; i++) {
        completion(completions + (long) i * VerbsAbi.Wc.BYTES, to);
      }
    }
    giveReceives(false);
    if (timing && queue.isCompleted(timedUntil)) {
      adaptFlight();
    }
    work += report(to);
    work += moveStaged(to);
    if (empty) {
      work += lookAround(to, work == 0);
    }
    return work;
  }

  private StagedRequests staged() {
    StagedRequests known = staged;
    if (known == null) {
      RegisteredRings rings = new RegisteredRings(rail.device(), false);
      known = new StagedRequests(queue, remoteKeys, this::keys, maxPiece, rings, staging(rings), this);
      staged = known;
    }
    return known;
  }

  private StagedMoves moves() {
    StagedMoves known = moves;
    if (known == null) {
      RegisteredRings rings = new RegisteredRings(rail.device(), true);
      known = new StagedMoves(registry, rings, staging(rings), this);
      moves = known;
    }
    return known;
  }

  private PathStaging staging(RegisteredRings rings) {
    PathStaging made = new PathStaging(deviceStaging, rings);
    staging = made;
    return made;
  }

  /** Lets what goes through slots go on. */
  private int moveStaged(ConnectionEvents to) {
    if (state != State.OPEN) {
      return 0;
    }
    try {
      int work = (staged == null ? 0 : staged.work(this, to)) + (moves == null ? 0 : moves.work());
      if (work > 0) {
        flushPosted();
      }
      return work;
    } catch (DriverException e) {
      fail(PathFault.Kind.WORK_ERROR, String.valueOf(e.getMessage()));
      return 1;
    }
  }

  /** Uses of memory that devices may be at are given back when they are not: a device cannot be called back. */
  private void letGoOfDevices(ConnectionEvents to) {
    if (!letGoOfDevices && quiet) {
      letGoOfDevices = (staged == null || staged.letGo(this, to)) && (moves == null || moves.letGo());
    }
  }

  private void slotMessage(ByteBuffer message) {
    String wrong = initiator ? staged().received(message) : moves().received(message);
    if (!wrong.isEmpty()) {
      fail(PathFault.Kind.PROTOCOL, "the peer sent " + wrong);
    }
  }

  private void completion(long wc, ConnectionEvents to) {
    long id = RawMemory.u64(wc + VerbsAbi.Wc.WR_ID);
    int status = RawMemory.u32(wc + VerbsAbi.Wc.STATUS);
    if ((id & SendQueue.RECEIVE) != 0) {
      receive((int) id, status, wc, to);
    } else if (!queue.isUnderWay(id)) {
      fail(PathFault.Kind.WORK_ERROR, "the device completed work request " + id + ", which is not under way");
    } else if (status == VerbsAbi.WcStatus.SUCCESS) {
      queue.completed(id);
      lastSuccess = 0;
    } else {
      queue.failed(id, workStatus(status), RawMemory.u32(wc + VerbsAbi.Wc.VENDOR_ERR));
      failed(status, RawMemory.u32(wc + VerbsAbi.Wc.VENDOR_ERR));
    }
  }

  private void receive(int slot, int status, long wc, ConnectionEvents to) {
    receives.taken(1);
    if (status == VerbsAbi.WcStatus.SUCCESS) {
      received++;
      listen();
      if (RawMemory.u32(wc + VerbsAbi.Wc.OPCODE) == VerbsAbi.WcOpcode.RECV_RDMA_WITH_IMM) {
        int immediate = Integer.reverseBytes(RawMemory.u32(wc + VerbsAbi.Wc.IMM_DATA));
        to.flushArrived(this, immediate >>> 1, (immediate & 1) != 0);
      } else {
        int length = RawMemory.u32(wc + VerbsAbi.Wc.BYTE_LEN);
        if (length > 0) {
          int at = slot * SharedReceiveQueue.SLOT_BYTES;
          slots.clear().position(at).limit(at + length).order(ByteOrder.LITTLE_ENDIAN);
          if (SlotMessage.isOne(slots)) {
            slotMessage(slots);
          } else {
            to.received(this, slots);
          }
        }
      }
    } else if (status != VerbsAbi.WcStatus.WR_FLUSH_ERR) {
      failed(status, RawMemory.u32(wc + VerbsAbi.Wc.VENDOR_ERR));
    }
    if (holding == HELD_RECEIVES) {
      giveReceives(true);
    }
    held[holding++] = slot;
  }

  private void listen() {
    if (!listening) {
      listening = true;
      flushPosted();
    }
  }

  /** Gives slots back when they are many, or few are left for the rail. */
  private void giveReceives(boolean now) {
    if (holding == 0 || !(now || holding == HELD_RECEIVES || receives.isLow())) {
      return;
    }
    int errno = receives.give(held, holding, scratch);
    holding = 0;
    if (errno != 0) {
      fail(PathFault.Kind.WORK_ERROR, "ibv_post_srq_recv failed: " + Errno.describe(Math.abs(errno)));
    }
  }

  /**
   * What a status says of the request. REM_INV_REQ_ERR is not among those about memory: what we ask for is always valid, so
   * the two ends disagree about where in the stream of packets they are (soft-RoCE after a cut does), and the request goes
   * another way.
   */
  private static WorkStatus workStatus(int status) {
    return switch (status) {
      case VerbsAbi.WcStatus.REM_ACCESS_ERR, VerbsAbi.WcStatus.REM_INV_RD_REQ_ERR -> WorkStatus.REMOTE_ACCESS;
      case VerbsAbi.WcStatus.LOC_PROT_ERR, VerbsAbi.WcStatus.LOC_ACCESS_ERR, VerbsAbi.WcStatus.LOC_LEN_ERR,
          VerbsAbi.WcStatus.LOC_QP_OP_ERR ->
        WorkStatus.LOCAL_ACCESS;
      default -> WorkStatus.FLUSHED;
    };
  }

  private void failed(int status, int vendorError) {
    if (state != State.OPEN) {
      return;
    }
    PathFault.Kind kind =
        switch (status) {
          case VerbsAbi.WcStatus.RETRY_EXC_ERR, VerbsAbi.WcStatus.RNR_RETRY_EXC_ERR,
              VerbsAbi.WcStatus.RESP_TIMEOUT_ERR ->
            PathFault.Kind.TIMED_OUT;
          default -> PathFault.Kind.WORK_ERROR;
        };
    String hint = WcStatuses.hint(status);
    fail(
        kind,
        "work completion %s, vendor error 0x%x%s%s"
            .formatted(WcStatuses.describe(status), vendorError, since(), hint.isEmpty() ? "" : "; " + hint));
  }

  private String since() {
    long at = lastSuccess;
    return at == 0
        ? ", last success just before"
        : ", last success " + (System.nanoTime() - at) / 1_000_000 + " ms before";
  }

  private int report(ConnectionEvents to) {
    int reports = 0;
    while (reports < REPORTS && queue.hasEnded()) {
      long workId = queue.workId();
      WorkStatus status = queue.status();
      int detail = queue.detail();
      long end = queue.messagesTo();
      queue.removeWork();
      if (end >= 0) {
        messageHead = end;
      }
      reports++;
      if (workId < 0 && staged != null) {
        staged.carried((int) workId, status, Integer.toUnsignedLong(detail));
      } else if (workId != 0) {
        to.completed(this, workId, status, Integer.toUnsignedLong(detail));
      }
    }
    return reports;
  }

  /** What is looked at only when the completion queue is empty. */
  private int lookAround(ConnectionEvents to, boolean idle) {
    PathFault told = asyncFault;
    if (told != null && state == State.OPEN) {
      fail(told.kind(), told.detail());
    }
    if (idle && state == State.OPEN && ++idlePolls >= IDLE_POLLS) {
      idlePolls = 0;
      noteQuiet();
      watchStream();
    }
    if (inError && !quiet && queue.isFlushed()) {
      boolean over = lastReceiveReached || deviceGone || System.nanoTime() - errorAt > QUIET_NANOS;
      quiet = over && lastLook; // what came between the look at the queue and this is seen by one more look
      lastLook = over;
    } else if (inError && !queue.isFlushed() && (deviceGone || System.nanoTime() - errorAt > FLUSH_NANOS)) {
      pair.destroy();
      queue.giveUp();
    }
    letGoOfDevices(to);
    PathFault failed = fault;
    if (failed != null && !faultReported && !queue.hasEnded()) {
      faultReported = true;
      to.failed(this, failed);
      return 1;
    }
    return 0;
  }

  /** Nothing comes any more: from now on the last success is some time ago. Not for each, since reading the clock costs. */
  private void noteQuiet() {
    if (lastSuccess == 0) {
      lastSuccess = System.nanoTime();
    }
  }

  /** Ends the connection if the peer has ended the stream. */
  private void watchStream() {
    if (!streamOpen) {
      return;
    }
    long n = Sockets.receive(stream.fd(), scratch, Long.BYTES);
    if (n != -Errno.EAGAIN && state == State.OPEN) {
      fail(
          PathFault.Kind.RESET,
          n < 0 ? "the peer's process is gone: " + Errno.describe((int) -n) : "the peer closed the path");
    }
  }

  // ------------------------------------------------------------------ asynchronous events, on their thread

  @Override
  public void queuePairFailed(String event) {
    tell(new PathFault(PathFault.Kind.WORK_ERROR, "asynchronous event " + event + refusedRequest(event)));
  }

  private static String refusedRequest(String event) {
    return event.equals("QP_ACCESS_ERR") || event.equals("QP_REQ_ERR")
        ? ": the peer's request was refused, its key, range or permission is wrong"
        : ": look at the kernel log";
  }

  @Override
  public void lastReceive() {
    lastReceiveReached = true;
  }

  @Override
  public void portFailed(String what) {
    tell(new PathFault(PathFault.Kind.PORT_DOWN, what));
  }

  @Override
  public void deviceFailed(String what) {
    deviceGone = true;
    tell(new PathFault(PathFault.Kind.WORK_ERROR, what));
  }

  private void tell(PathFault what) {
    if (asyncFault == null) {
      asyncFault = what;
    }
    synchronized (streamLock) {
      if (streamOpen) {
        Sockets.shutdownInput(stream.fd()); // wakes the owner
      }
    }
  }

  // ------------------------------------------------------------------ ending

  private void fail(PathFault.Kind kind, String what) {
    if (state == State.OPEN) {
      fault = new PathFault(kind, describe() + ": " + what);
      state = State.FAILED;
      toError();
    }
  }

  private void toError() {
    if (inError) {
      return;
    }
    inError = true;
    errorAt = System.nanoTime();
    queue.stop();
    int errno = pair.error();
    if (errno != 0) {
      // A device that cannot even do that: the kernel ends the queue pair, and with it all access.
      deviceGone = true;
    }
    closeStream();
  }

  private void closeStream() {
    synchronized (streamLock) {
      if (!streamOpen) {
        return;
      }
      streamOpen = false;
      try {
        WaitSet set = waitSet;
        if (set != null) {
          set.remove(stream.fd());
        }
      } finally {
        stream.close();
      }
    }
  }

  @Override
  public void abort() {
    if (state == State.OPEN || state == State.FAILED) {
      state = State.ABORTED;
      toError();
    }
  }

  @Override
  public boolean drained() {
    return state != State.OPEN && quiet && letGoOfDevices && stashed == 0 && queue.isEmpty()
        && (fault == null || faultReported);
  }

  @Override
  public long progress() {
    return received;
  }

  // ------------------------------------------------------------------ sleeping

  @Override
  public void attach(WaitSet set) {
    waitSet = set;
    set.add(VerbsContext.channelFd(pair.channel()), WaitSet.READ);
    synchronized (streamLock) {
      if (streamOpen) {
        set.add(stream.fd(), WaitSet.READ);
      }
    }
  }

  @Override
  public boolean arm() {
    if (state != State.OPEN) {
      return drained() || state == State.CLOSED;
    }
    if (asyncFault != null || stashed > 0 || queue.hasEnded() || (listening && queue.hasUnrung())) {
      return false;
    }
    if ((staged != null && !staged.isAtRest()) || (moves != null && !moves.isAtRest())) {
      return false; // a device is asked, and a slot may come free
    }
    giveReceives(true);
    noteQuiet();
    watchStream();
    if (state != State.OPEN) {
      return false;
    }
    if (armed && takeEvent()) {
      armed = false;
    }
    if (!armed) {
      int errno = context.requestNotification(pair.cq());
      if (errno != 0) {
        fail(PathFault.Kind.WORK_ERROR, "ibv_req_notify_cq failed: " + Errno.describe(Math.abs(errno)));
        return false;
      }
      armed = true;
    }
    // What came before the queue was armed makes no event.
    int n = context.pollCq(pair.cq(), COMPLETIONS, completions);
    if (n < 0) {
      fail(PathFault.Kind.WORK_ERROR, "ibv_poll_cq failed: " + n);
      return false;
    }
    stashed = n;
    return n == 0;
  }

  private boolean takeEvent() {
    if (!context.takeCqEvent(pair.channel(), scratch)) {
      return false;
    }
    context.ackCqEvents(pair.cq(), 1);
    return true;
  }

  @Override
  public void close() {
    if (state == State.CLOSED) {
      return;
    }
    boolean harmless = drained(); // else only the end of the queue pair ends its access to memory
    abort();
    state = State.CLOSED;
    events.forget(this);
    if (pair.isAlive()) {
      returnReceives();
    }
    giveReceives(true);
    WaitSet set = waitSet;
    if (set != null) {
      set.remove(VerbsContext.channelFd(pair.channel()));
    }
    if (harmless) {
      teardown.later(endpoints, () -> giveBack(true));
    } else {
      giveBack(false);
    }
  }

  private void giveBack(boolean idle) {
    pair.destroy();
    if (staging != null && idle) {
      staging.close();
    } else if (staging != null) {
      staging.abandon();
    }
    while (armed && takeEvent()) {
      armed = false;
    }
    rail.device().deregister(messageRegion);
    pair.close();
    block.close();
  }

  /** Slots whose completions nobody will look at any more belong to the rail. */
  private void returnReceives() {
    int n = stashed > 0 ? stashed : context.pollCq(pair.cq(), COMPLETIONS, completions);
    while (n > 0) {
      for (int i = 0; i < n; i++) {
        long id = RawMemory.u64(completions + (long) i * VerbsAbi.Wc.BYTES + VerbsAbi.Wc.WR_ID);
        if ((id & SendQueue.RECEIVE) != 0) {
          receives.taken(1);
          if (holding == HELD_RECEIVES) {
            giveReceives(true);
          }
          held[holding++] = (int) id;
        }
      }
      n = context.pollCq(pair.cq(), COMPLETIONS, completions);
    }
    stashed = 0;
  }
}
