/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.WireException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The initiator's end of one path generation: its connection, the chunks that it holds, and where
 * it stands between up and fenced.
 */
final class PathGeneration implements ConnectionEvents {

  /** The life of a generation. */
  enum State {
    /** Usable. */
    UP,
    /** Failed or given up; our own side is being flushed. */
    DRAINING,
    /** Our own side is flushed; the target may still receive what is under way. */
    DEAD,
    /** The target has acknowledged the fence: nothing of it lands any more. */
    FENCED
  }

  /** Chunks under way at most. */
  private static final int SLOTS = 256;

  /** How far the target's window may lag behind ours before it is told. */
  private static final long CLOSED_LAG = 1 << 16;

  private static final int KIND_SHIFT = 60;
  private static final long ARGUMENT = (1L << KIND_SHIFT) - 1;
  private static final long CHUNK = 1;
  private static final long COMMIT = 2;
  private static final long ABORT_FLUSH = 3;
  private static final long RECORD = 4;
  private static final long GRANT = 5;
  private static final long CLOSE = 6;

  final Path path;
  final PathKey key;
  final int index;
  final int session;
  final Connection connection;
  final ConnectionEnd end;

  State state = State.UP;
  PathFault fault = new PathFault(PathFault.Kind.ABORTED, "");
  long lastProgress;
  long lastProgressAt;
  long upAt;
  long bytesInFlight;

  /** Those of them that come to us. */
  long readBytesInFlight;

  /** Whether the target lends bytes under way. */
  boolean lendsBytes;

  /** What the connection's signs of life counted when they were last looked at, and how often there were none since. */
  long signs;

  int misses;

  /** Whether there was one at the last look. */
  boolean signed;

  /** The progress at {@link FlowWatch}'s last look. */
  long watchedProgress;

  /** Whether CLOSE was posted here, and whether the target has received it. */
  private boolean closeSaid;

  private boolean closeHeard;

  /** Where our FENCE for this dead generation was sent; null if it must be sent. */
  @Nullable
  PathGeneration fenceOn;

  private final OutboundLink link;
  private final @Nullable TransferState[] slotTransfer = new @Nullable TransferState[SLOTS];
  private final long[] slotPosition = new long[SLOTS];
  private final long[] slotLength = new long[SLOTS];
  /** When it was posted, in a chunk that is timed; else 0. */
  private final long[] slotPostedAt = new long[SLOTS];

  /** In which round of the owner's work it was posted. */
  private final long[] slotPosted = new long[SLOTS];
  private final int[] freeSlots = new int[SLOTS];
  private int free = SLOTS;
  private final DataRequest request = new DataRequest();
  private long saidClosed;

  PathGeneration(
      OutboundLink link, Path path, PathKey key, int index, int session, Connection connection) {
    this.link = link;
    this.path = path;
    this.key = key;
    this.index = index;
    this.session = session;
    this.connection = connection;
    this.end = new ConnectionEnd(connection, cause -> link.endBroke(this, cause));
    for (int i = 0; i < SLOTS; i++) {
      freeSlots[i] = SLOTS - 1 - i;
    }
  }

  boolean isUp() {
    return state == State.UP;
  }

  /** Up, or failed but not drained yet: our own side may still touch local memory. */
  boolean isLive() {
    return state == State.UP || state == State.DRAINING;
  }

  boolean isUnfenced() {
    return state == State.DRAINING || state == State.DEAD;
  }

  /** How many segments a chunk may have here now; 0 if none can be posted. */
  int room() {
    return free == 0 ? 0 : Math.min(connection.segmentBudget(), connection.maxSegments());
  }

  /** Posts one chunk; false if it does not fit now. */
  boolean postChunk(TransferState transfer, long position, long length, long now) {
    int slot = freeSlots[free - 1];
    // Before the post, since some connections carry a chunk out within it.
    slotPostedAt[slot] = path.traffic.timesNext() ? link.hostNow() : 0;
    request.set(
        transfer.op, transfer.id(), transfer.nextChunk++, transfer.plan(), position, length);
    if (!connection.postData(workId(CHUNK, slot), request)) {
      return false;
    }
    free--;
    slotTransfer[slot] = transfer;
    slotPosition[slot] = position;
    slotLength[slot] = length;
    slotPosted[slot] = now;
    path.pace.posted(length, bytesInFlight == 0, now);
    bytesInFlight += length;
    readBytesInFlight += transfer.op == DataRequest.Op.READ ? length : 0;
    return true;
  }

  private static long workId(long kind, long argument) {
    return (kind << KIND_SHIFT) | (argument & ARGUMENT);
  }

  boolean postCommit(TransferState transfer) {
    return sayClosed()
        && connection.postFlush(
            workId(COMMIT, transfer.id()), transfer.id(), false);
  }

  boolean postAbortFlush(long transfer) {
    return sayClosed()
        && connection.postFlush(workId(ABORT_FLUSH, transfer), transfer, true);
  }

  /** A flush carries few bits of a transfer's number: the target's window must not lag far. */
  private boolean sayClosed() {
    long base = link.window().base();
    if (base - saidClosed < CLOSED_LAG) {
      return true;
    }
    if (!connection.postMessage(0, link.writer.heartbeat(session, base))) {
      return false;
    }
    saidClosed = base;
    return true;
  }

  /** Says CLOSE, once; the target receives it behind everything posted before. */
  void postClose(CloseKind kind, String reason) {
    if (!closeSaid && connection.postMessage(workId(CLOSE, 0), link.writer.close(session, kind, reason))) {
      closeSaid = true;
      connection.flushPosted();
    }
  }

  /** True once the target has received CLOSE on this path. */
  boolean isCloseHeard() {
    return closeHeard;
  }

  boolean postRecord(TransferState transfer, ByteBuffer record) {
    return connection.postMessage(workId(RECORD, transfer.id()), record);
  }

  /** Posts the read of a grant's generation word. */
  boolean postGrantRead(TransferState transfer) {
    request.set(
        DataRequest.Op.READ, transfer.id(), transfer.nextChunk++, transfer.grantPlan(), 0, 8);
    return connection.postData(workId(GRANT, transfer.id()), request);
  }

  /** True if a chunk of this transfer is under way here or stranded here. */
  boolean holds(TransferState transfer) {
    if (free == SLOTS) {
      return false;
    }
    for (TransferState held : slotTransfer) {
      if (held == transfer) {
        return true;
      }
    }
    return false;
  }

  /** Our own side is flushed: READ chunks may go elsewhere, WRITE chunks wait for the fence. */
  void becomeDead() {
    state = State.DEAD;
    bytesInFlight = 0;
    readBytesInFlight = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
      TransferState transfer = slotTransfer[slot];
      if (transfer == null) {
        continue;
      }
      transfer.outstanding--;
      if (transfer.op == DataRequest.Op.READ || link.rules().mayReplayBeforeFence()) {
        release(slot);
        replay(transfer, slot);
      } else {
        transfer.stranded++;
      }
      link.wake(transfer);
    }
  }

  /** The READ chunks may be replayed though our side is not drained: only a planted fault. */
  void replayReadsEarly() {
    for (int slot = 0; slot < SLOTS; slot++) {
      TransferState transfer = slotTransfer[slot];
      if (transfer != null && transfer.op == DataRequest.Op.READ) {
        transfer.outstanding--;
        release(slot);
        replay(transfer, slot);
        link.wake(transfer);
      }
    }
  }

  /** The target fenced it: what it held may be replayed. */
  void becomeFenced() {
    state = State.FENCED;
    fenceOn = null;
    for (int slot = 0; slot < SLOTS; slot++) {
      TransferState transfer = slotTransfer[slot];
      if (transfer == null) {
        continue;
      }
      transfer.stranded--;
      release(slot);
      replay(transfer, slot);
    }
  }

  private void replay(TransferState transfer, int slot) {
    if (!transfer.isOver()) {
      transfer.addReplay(slotPosition[slot], slotLength[slot]);
      if (fault.kind() == PathFault.Kind.RESET || fault.kind() == PathFault.Kind.WORK_ERROR) {
        link.brokeUnder(this, transfer, slotPosition[slot]);
      }
    }
  }

  private void release(int slot) {
    slotTransfer[slot] = null;
    freeSlots[free++] = slot;
  }

  @Override
  public void completed(Connection from, long workId, WorkStatus status, long detail) {
    if (workId == 0 || status == WorkStatus.FLUSHED) {
      return; // becomeDead() and becomeFenced() decide about what was flushed
    }
    long argument = workId & ARGUMENT;
    switch ((int) (workId >>> KIND_SHIFT)) {
      case (int) CHUNK -> chunkCompleted((int) argument, status, detail);
      case (int) COMMIT -> link.commitAcknowledged(this, argument, status);
      case (int) RECORD -> link.recordAcknowledged(this, argument, status);
      case (int) GRANT -> link.generationRead(argument, status);
      case (int) CLOSE -> {
        if (status == WorkStatus.SUCCESS) {
          closeHeard = true;
          link.closeHeard();
        }
      }
      default -> {
        // the flush of an ABORT: the target answers with STATE
      }
    }
  }

  private void chunkCompleted(int slot, WorkStatus status, long detail) {
    TransferState transfer = slotTransfer[slot];
    if (transfer == null) {
      return;
    }
    long length = slotLength[slot];
    if (state == State.DEAD) {
      return; // counted as lost already; the fence decides
    }
    release(slot);
    bytesInFlight -= length;
    readBytesInFlight -= transfer.op == DataRequest.Op.READ ? length : 0;
    transfer.outstanding--;
    if (status == WorkStatus.SUCCESS) {
      transfer.acknowledged(length);
      path.failures = 0;
      if (slotPostedAt[slot] != 0) {
        path.traffic.took(link.hostNow() - slotPostedAt[slot]);
      }
      path.traffic.acknowledged(transfer.op, length);
      long now = link.now();
      long nanos = now - slotPosted[slot];
      path.pace.acknowledged(length, nanos, bytesInFlight == 0, now);
      path.flow.completed(now, length, nanos);
      transfer.carriedOver(index, path.id, length);
    } else if (status != WorkStatus.WITHDRAWN) {
      link.chunkRefused(this, transfer, slotPosition[slot], status, detail);
    }
    link.chunkEnded(transfer);
  }

  @Override
  public void flushArrived(Connection from, long transfer, boolean abort) {
    failed(from, new PathFault(PathFault.Kind.PROTOCOL, "a flush arrived at the initiator"));
  }

  @Override
  public void received(Connection from, ByteBuffer message) {
    try {
      link.received(this, message);
    } catch (WireException e) {
      failed(from, new PathFault(PathFault.Kind.PROTOCOL, String.valueOf(e.getMessage())));
    }
  }

  @Override
  public void failed(Connection from, PathFault why) {
    link.fail(this, why);
  }

  @Override
  public String toString() {
    return path.route.local() + " path " + key;
  }
}
