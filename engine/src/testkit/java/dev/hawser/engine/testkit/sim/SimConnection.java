/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.engine.spi.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One end of a simulated path generation; {@link SimPair} holds both. */
public final class SimConnection implements Connection {

  /** Bytes at raw addresses; the simulation's regions are real memory. */
  @SuppressWarnings("restricted")
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  /** What {@link #poll} will report. */
  private interface Report {
    void to(ConnectionEvents events);
  }

  /** A chunk, a flush or a message on its way. */
  private static final class Work {
    final long workId;
    DataRequest.@Nullable Op op;
    long transfer;
    final List<long[]> segments = new ArrayList<>();
    boolean abortFlush;
    byte @Nullable [] message;
    byte @Nullable [] snapshot;
    boolean placed;
    boolean refused;
    boolean withdrawn;
    boolean dropped;
    boolean late;

    Work(long workId) {
      this.workId = workId;
    }
  }

  private final SimPair pair;
  private final SimWorld world;
  private final boolean initiator;
  private final ArrayDeque<Report> inbox = new ArrayDeque<>();
  private final SegmentCursor cursor = new SegmentCursor();

  /** Initiator: posted and not acknowledged. Target: received and not processed. */
  private final ArrayDeque<Work> posted = new ArrayDeque<>();

  private final ArrayDeque<Work> nic = new ArrayDeque<>();
  private long lastArrival;
  private long lastLate;
  private long lastReply;
  private long progress = 1;
  private long signs;
  private boolean aborted;
  private boolean flushed;
  private boolean closed;
  private boolean failureReported;

  SimConnection(SimPair pair, SimWorld world, boolean initiator) {
    this.pair = pair;
    this.world = world;
    this.initiator = initiator;
  }

  @Override
  public PathKey key() {
    return pair.key();
  }

  @Override
  public String describe() {
    return "simulated " + pair.mode() + " path " + pair.key();
  }

  public boolean isAborted() {
    return aborted;
  }

  /** True once this end touches local memory no more. */
  public boolean isFlushed() {
    return flushed;
  }

  @Override
  public int segmentBudget() {
    return aborted ? 0 : Math.max(0, pair.depth() - posted.size());
  }

  @Override
  public int maxSegments() {
    return 16;
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    if (aborted || posted.size() >= pair.depth()) {
      return false;
    }
    Work work = new Work(workId);
    work.op = request.op();
    work.transfer = request.transfer();
    cursor.start(request.plan(), request.position(), request.length());
    while (cursor.next()) {
      work.segments.add(new long[] {cursor.localAddress(), cursor.remoteAddress(), cursor.length()});
      work.refused |= !pair.allows(cursor.remoteRegion().id());
    }
    launch(work);
    return true;
  }

  /**
   * A stream's WRITEs that wait behind the one that is being sent: how far that has come is chance. And its READs, wherever
   * they are: what the target sends all the same goes nowhere, and whether it still sends it is chance, too.
   */
  @Override
  public void withdraw(long transfer) {
    if (aborted || pair.mode() != SimMode.STREAM) {
      return;
    }
    Iterator<Work> newestFirst = posted.descendingIterator();
    boolean begun = false;
    while (newestFirst.hasNext()) {
      Work work = newestFirst.next();
      boolean write = work.op == DataRequest.Op.WRITE;
      begun |= write && (work.snapshot != null || world.chance(250)); // it is being sent
      if (work.op != null && work.transfer == transfer && !(write && begun)) {
        work.withdrawn = true;
        newestFirst.remove();
        inbox.add(e -> e.completed(this, work.workId, WorkStatus.WITHDRAWN, 0));
      }
    }
  }

  /** The target refuses a chunk: a queue pair fails with it, software only says so. */
  private void refuse(Work work, SimConnection to) {
    if (pair.mode() == SimMode.RC) {
      pair.cutBehindRefusal();
    } else {
      to.inbox.add(e -> e.refused(to, work.transfer));
    }
    reply(
        () -> {
          if (!aborted && posted.remove(work)) { // or it was withdrawn meanwhile
            inbox.add(e -> e.completed(this, work.workId, WorkStatus.REMOTE_ACCESS, 0));
          }
        });
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    if (aborted || world.chance(250)) {
      return false;
    }
    Work work = new Work(workId);
    work.abortFlush = abort;
    work.transfer = transfer;
    launch(work);
    return true;
  }

  @Override
  public boolean postMessage(long workId, ByteBuffer message) {
    if (aborted) {
      return false;
    }
    byte[] bytes = new byte[message.remaining()];
    message.get(message.position(), bytes);
    if (initiator) {
      Work work = new Work(workId);
      work.message = bytes;
      launch(work);
    } else {
      SimConnection other = pair.initiator();
      boolean lost = pair.isCut();
      reply(
          () -> {
            if (!lost && !other.aborted && !pair.isDark()) {
              other.progress++;
              other.inbox.add(e -> e.received(other, buffer(bytes)));
            }
          });
    }
    return true;
  }

  private static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Sends something to the target: it arrives behind everything sent before, some time. */
  private void launch(Work work) {
    posted.add(work);
    lastArrival = Math.max(lastArrival + 1, world.now() + 1 + world.random(pair.delay()));
    world.after(lastArrival - world.now(), () -> arrive(work));
  }

  /** Something goes back to the initiator, in order. */
  private void reply(Runnable action) {
    SimConnection from = pair.target();
    from.lastReply = Math.max(from.lastReply + 1, world.now() + 1 + world.random(pair.delay()));
    world.after(from.lastReply - world.now(), action);
  }

  private void arrive(Work work) {
    SimConnection to = pair.target();
    boolean mappedStore = pair.mode() == SimMode.MAPPED && work.op != null;
    if (mappedStore ? flushed || pair.initiatorIsDead() : to.aborted) {
      return; // never lands any more
    }
    if (pair.targetIsDead()) {
      return;
    }
    if ((pair.isDark() || pair.isCut()) && !work.late) {
      if (pair.stillLands()) { // as late as it likes, until the target fences; what is behind it is lost
        work.late = true;
        lastLate = Math.max(lastLate + 1, world.now() + world.random(pair.delay() * 40));
        world.after(lastLate - world.now(), () -> arrive(work));
      }
      return;
    }
    kernelAcknowledges();
    if (work.withdrawn && (work.op == DataRequest.Op.WRITE || world.chance(500))) {
      to.progress++;
      return;
    }
    if (work.refused) {
      to.progress++;
      refuse(work, to);
      return;
    }
    if (work.op == DataRequest.Op.READ) {
      sample(work);
      return;
    }
    to.progress++;
    if (work.op == DataRequest.Op.WRITE) {
      if (work.snapshot == null) {
        for (long[] s : work.segments) {
          pair.observer().localRead(work.transfer, this, s[0], s[2]);
        }
        snapshot(work);
      }
      if (mappedStore) {
        place(work, to);
        acknowledge(work);
        return;
      }
      to.nic.add(work);
      long late = world.chance(50) ? 30 : 1; // the way from the NIC to memory is short, but nobody promises it
      world.after(world.random(pair.delay() * late), () -> place(work, to));
      if (pair.mode() == SimMode.RC) {
        acknowledge(work);
      }
    } else {
      to.nic.add(work);
      if (pair.mode() == SimMode.RC) {
        acknowledge(work);
      }
      to.surface();
    }
  }

  /** Whatever the target's process does, what carries its bytes shows the initiator that they came. */
  private void kernelAcknowledges() {
    world.after(
        1 + world.random(pair.delay()),
        () -> {
          if (!pair.isDark() && !pair.isCut()) {
            signs++;
          }
        });
  }

  private void place(Work work, SimConnection to) {
    if (work.placed || pair.targetIsDead()) {
      return;
    }
    byte[] bytes = work.snapshot;
    if (bytes == null) {
      throw new IllegalStateException("placed without data");
    }
    int at = 0;
    for (long[] s : work.segments) {
      MemorySegment.copy(
          MemorySegment.ofArray(bytes), at, ALL, s[1], s[2]);
      at += (int) s[2];
      pair.observer().placed(work.transfer, this, s[1], s[2]);
    }
    work.placed = true;
    to.progress++;
    if (pair.mode() == SimMode.STREAM) {
      acknowledge(work);
    }
    to.surface();
  }

  /** What the NIC holds becomes visible to polling in order, messages behind the data before them. */
  private void surface() {
    while (!nic.isEmpty()) {
      Work head = nic.peek();
      if (head.op == DataRequest.Op.WRITE) {
        if (!head.placed) {
          return;
        }
        nic.remove();
        continue;
      }
      nic.remove();
      SimConnection from = pair.initiator();
      byte[] message = head.message;
      if (message != null) {
        inbox.add(
            e -> {
              e.received(this, buffer(message));
              acknowledgeProcessed(from, head);
            });
      } else {
        long carried = head.transfer & 0x7fffffffL;
        boolean abort = head.abortFlush;
        inbox.add(
            e -> {
              e.flushArrived(this, carried, abort);
              acknowledgeProcessed(from, head);
            });
      }
    }
  }

  private void acknowledgeProcessed(SimConnection from, Work work) {
    if (pair.mode() != SimMode.RC) {
      from.acknowledge(work);
    }
  }

  private void acknowledge(Work work) {
    boolean lost = pair.isCut() || pair.isDark();
    reply(
        () -> {
          if (!lost && !pair.isDark() && !pair.isCut() && !aborted) {
            posted.remove(work);
            progress++;
            inbox.add(e -> e.completed(this, work.workId, WorkStatus.SUCCESS, 0));
          }
        });
  }

  /** A READ is served: sampled now, its response travels. */
  private void sample(Work work) {
    snapshotRemote(work);
    boolean lost = pair.isCut() || pair.isDark();
    reply(
        () -> {
          byte[] bytes = work.snapshot;
          if (flushed || lost || bytes == null || work.withdrawn) {
            return;
          }
          int at = 0;
          for (long[] s : work.segments) {
            MemorySegment.copy(
                MemorySegment.ofArray(bytes), at, ALL, s[0], s[2]);
            at += (int) s[2];
            pair.observer().landed(work.transfer, this, s[0], s[2]);
          }
          if (!aborted) {
            posted.remove(work);
            progress++;
            inbox.add(e -> e.completed(this, work.workId, WorkStatus.SUCCESS, 0));
          }
        });
  }

  private static void snapshot(Work work) {
    copyOut(work, 0);
  }

  private static void snapshotRemote(Work work) {
    copyOut(work, 1);
  }

  private static void copyOut(Work work, int side) {
    int total = 0;
    for (long[] s : work.segments) {
      total += (int) s[2];
    }
    byte[] bytes = new byte[total];
    int at = 0;
    for (long[] s : work.segments) {
      MemorySegment.copy(ALL, s[side], MemorySegment.ofArray(bytes), at, s[2]);
      at += (int) s[2];
    }
    work.snapshot = bytes;
  }

  @Override
  public void flushPosted() {}

  @Override
  public int poll(ConnectionEvents events) {
    int budget = 1 + (int) world.random(4);
    int work = 0;
    while (work < budget && !inbox.isEmpty()) {
      inbox.remove().to(events);
      work++;
    }
    return work;
  }

  @Override
  public long progress() {
    return progress;
  }

  @Override
  public long signsOfLife() {
    return progress + signs;
  }

  @Override
  public void abort() {
    if (aborted) {
      return;
    }
    if (initiator) {
      inbox.clear(); // acknowledgements that were not polled are lost
      aborted = true;
      world.after(
          world.random(pair.delay() * (world.chance(200) ? 20 : 1)),
          () -> {
            leaveMemory(); // until here the queue pair may read and write our memory
            posted.clear();
            flushed = true;
          });
    } else {
      aborted = true;
      if (pair.mode() == SimMode.STREAM) {
        dropHalfReceived();
      }
    }
  }

  @Override
  public boolean drained() {
    if (!aborted) {
      return false;
    }
    if (initiator) {
      return flushed;
    }
    surface();
    if (pair.mode() == SimMode.MAPPED && !pair.initiator().flushed && !pair.initiatorIsDead()) {
      return false;
    }
    return nic.isEmpty() && inbox.isEmpty();
  }

  /** The stream ends in the middle of a chunk: it and everything behind it was never received. */
  private void dropHalfReceived() {
    boolean half = false;
    for (Work work : nic) {
      half |= work.op == DataRequest.Op.WRITE && !work.placed;
      work.placed |= half;
      work.dropped = half;
    }
    nic.removeIf(work -> work.dropped);
  }

  /** What has left already no longer needs our memory. */
  void leaveMemory() {
    for (Work work : posted) {
      if (work.op == DataRequest.Op.WRITE && work.snapshot == null) {
        snapshot(work);
      }
    }
  }

  /** The environment: this end learns that the path is broken. */
  void reportFailure(PathFault fault) {
    if (!aborted && !failureReported) {
      failureReported = true;
      inbox.add(e -> e.failed(this, fault));
    }
  }

  @Override
  public void attach(WaitSet waitSet) {}

  @Override
  public boolean arm() {
    return inbox.isEmpty();
  }

  @Override
  public void close() {
    if (closed) {
      throw new IllegalStateException("closed twice");
    }
    closed = true;
  }

  public boolean isClosed() {
    return closed;
  }
}
