/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.function.Function;

/**
 * The end that moves the bytes, by its {@link Mover}. Small requests are done when {@link #postData} returns; larger ones wait in a queue and
 * are moved by slices in {@link #poll}. What is posted behind a waiting request waits too, so that order is kept.
 *
 * <p>A message or a flush is complete when the target has processed it, and may be overtaken by the completion of data that
 * were posted behind it. What lies in the ring is processed even after a fence or the death of this process, but not after
 * the death of the target: it cannot stand for an acknowledgement.
 */
public final class InitiatorConnection extends MappedConnection {
  /** After so many bytes the peer's process is looked at before what moved them completes: some 400 µs of copying. */
  private static final long LOOK_BYTES = 4 << 20;

  private final PeerRegions regions;
  private final Mover mover;
  private final WorkQueue queue = new WorkQueue();
  private final Command command = new Command();
  private final ArrayList<PeerRegion> revoked = new ArrayList<>();
  private long stores;
  private long movedSinceLook;
  private boolean begun;
  private boolean released;
  // The version at which the next request was found to wait; −1: it was not judged yet.
  private int waitingSince = -1;
  // Whoever posted gets its thread back before a costly request begins: the next poll is the worker's, or of somebody who waits.
  private boolean later;
  // A request is refused, and there was no room to tell the target.
  private boolean untold;
  // The same of the first request, which has begun.
  private boolean firstUntold;

  /**
   * An end.
   *
   * @param mover makes what moves the bytes, for the regions that the target lends
   */
  public InitiatorConnection(
      PathEnds ends, ProcFiles proc, Populator populator, Function<PeerRegions, Mover> mover) {
    super(ends);
    this.regions = new PeerRegions(ends.peer(), proc, outgoing(), populator);
    this.mover = mover.apply(regions);
  }

  @Override
  public String localObstacle() {
    return mover.localObstacle();
  }

  private int version() {
    return regions.version() + mover.version();
  }

  @Override
  public int segmentBudget() {
    return mayPostData() ? MAX_SEGMENTS : 0;
  }

  private boolean mayPostData() {
    if (isOver()) {
      return false;
    }
    boolean room = hasRoom(queue.size() + unread().size() + completions().size());
    if (!room) {
      starved();
    }
    return room;
  }

  /** Asks the target for it, if that was not done yet: mapping and filling the page table take longer than a copy. */
  @Override
  public void foresee(RemoteRegion region) {
    if (!isOver()) {
      mover.foresee(regions.get(region.id()), region);
    }
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    if (!mayPostData()) {
      return false;
    }
    TransferPlan plan = request.plan();
    DataRequest.Op op = request.op();
    long position = request.position();
    long length = request.length();
    boolean first = queue.isEmpty();
    if (first && mover.movesAtOnce(plan, length)) {
      Verdict verdict = mover.judge(op, plan, position, length);
      if (verdict == Verdict.READY) {
        if (!targetPermits()) {
          return false;
        }
        long moved = mover.move(op, plan, position, length);
        if (moved == length) {
          segment().stores(++stores);
          movedSinceLook += moved;
          complete(workId, isPeerThere() ? WorkStatus.SUCCESS : WorkStatus.FLUSHED);
          return true;
        }
        queue.addData(workId, request.transfer(), op, plan, position, length);
        if (moved < 0) {
          moveFailed();
        } else {
          begun = true;
          segment().stores(++stores);
          queue.advance(moved);
        }
        return true;
      }
      if (verdict != Verdict.WAITING && tellRefused(request.transfer())) {
        complete(workId, verdict.status());
        return true;
      }
    }
    if (first && mover.isCostly(plan, position, length)) {
      later = true;
    }
    queue.addData(workId, request.transfer(), op, plan, position, length);
    return true;
  }

  /**
   * What was moved into memory of a process that has ended is in nobody's memory. The engine looks at the peer now and
   * then; a look here, too, whenever much was moved.
   */
  private boolean isPeerThere() {
    if (movedSinceLook < LOOK_BYTES) {
      return true;
    }
    movedSinceLook = 0;
    lookAtPeer();
    return !isOver();
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    return mayPostRecord() && accepted(writer().writeFlush(transfer, abort)) && wrote(workId);
  }

  @Override
  public boolean postMessage(long workId, ByteBuffer message) {
    if (message.remaining() > MAX_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "a message of " + message.remaining() + " bytes; at most " + MAX_MESSAGE_BYTES + " fit");
    }
    return mayPostRecord() && accepted(writer().write(message)) && wrote(workId);
  }

  private boolean mayPostRecord() {
    return !isOver() && accepted(queue.size() + unread().size() + completions().size() < Completions.CAPACITY);
  }

  private boolean accepted(boolean fits) {
    if (!fits) {
      starved();
    }
    return fits;
  }

  private boolean wrote(long workId) {
    if (queue.isEmpty()) {
      publish(workId, writer().written());
    } else {
      queue.addRecord(workId, writer().written());
      sayAlive();
    }
    return true;
  }

  /**
   * Signs of life must not wait for a device: a message that has to is announced past it. One announcement that was not read
   * yet says as much as many.
   */
  private void sayAlive() {
    if (outgoing().room() == CommandRing.SLOTS) {
      outgoing().offer(command.set(Command.ALIVE, 0));
      bell().due();
    }
  }

  private void publish(long workId, long end) {
    writer().publish(end);
    bell().due();
    if (workId != 0) {
      unread().add(workId, end);
    }
  }

  // ------------------------------------------------------------------------------------------ polling

  @Override
  public int look(long targetState) {
    if (isNews(targetState)) {
      fail(PathFault.Kind.RESET, "the target closed the path");
      return 1;
    }
    return 0;
  }

  @Override
  public boolean isNews(long targetState) {
    return targetState == PathSegment.OVER && !isOver();
  }

  /** Looks at the target's word: called before every slice. */
  private boolean targetPermits() {
    return look(segment().state(Side.TARGET)) == 0;
  }

  @Override
  public boolean mayTakeCommand() {
    return true;
  }

  @Override
  public void commanded(Command command, ConnectionEvents events) {
    if (isOver()) {
      return; // the target knows by our word that nothing is used any more
    }
    switch (command.kind) {
      case Command.GRANT -> {
        String obstacle = regions.granted(command);
        if (!obstacle.isEmpty()) {
          fail(PathFault.Kind.UNREACHABLE, obstacle);
        }
      }
      case Command.REFUSE -> regions.refused(command);
      case Command.REVOKE -> {
        if (!regions.revoked(command.region, revoked)) {
          fail(PathFault.Kind.PROTOCOL, "the target wants a region back that it does not lend");
        }
      }
      default -> {
        if (!mover.commanded(command)) {
          PathFault fault = mover.fault();
          if (fault == null) {
            fail(PathFault.Kind.PROTOCOL, "the target sent command " + command.kind);
          } else {
            fail(fault.kind(), fault.detail());
          }
        }
      }
    }
  }

  @Override
  public int work() {
    int done = isOver() || later ? 0 : advance();
    later = false;
    done += reap();
    if (mover.hasSent()) {
      bell().due();
    }
    done += unread().complete();
    if (isOver() && !released) {
      letGo();
    }
    if (!revoked.isEmpty() && !isBusy() && mover.letGo(revoked)) {
      regions.giveBack(revoked);
      done++;
    }
    if (!released && regions.send()) {
      bell().due();
      done++;
    }
    if (regions.unmapSome()) {
      done++;
    }
    return done;
  }

  /** Whether a request is under way. */
  private boolean isBusy() {
    return begun || queue.isAnyBegun();
  }

  /** Begins what waits, as much as one poll may. */
  private int advance() {
    int most = mover.movesPerPoll();
    long bytes = 0;
    int steps = 0;
    while (queue.isAnyWaiting() && bytes < mover.sliceBytes() && steps < most && !isOver()) {
      TransferPlan plan = queue.plan();
      if (plan == null) {
        queue.begun(0, WorkStatus.SUCCESS, 0);
        reap();
      } else if (begun || (revoked.isEmpty() && mayBegin(plan))) {
        long moved = slice(plan);
        if (moved < 0) {
          return steps + 1;
        }
        if (moved == 0 && begun) {
          return steps;
        }
        bytes += moved;
      } else if (waitingSince >= 0 || untold || !revoked.isEmpty()) {
        return steps;
      }
      steps++;
    }
    return steps;
  }

  /** Ends what is done, in the order of posting. */
  private int reap() {
    int done = 0;
    while (!isOver() && queue.isAnyBegun()) {
      if (queue.isFirstRecord()) {
        publish(queue.firstWorkId(), queue.firstPosition());
      } else if (mover.isDone(queue.firstMark())) {
        if (!isPeerThere() || !isToldOfLoss()) {
          return done;
        }
        completions().add(queue.firstWorkId(), queue.firstStatus(), queue.firstDetail());
      } else {
        PathFault fault = mover.fault();
        if (fault != null) {
          fail(fault.kind(), fault.detail());
        }
        return done;
      }
      queue.removeFirst();
      done++;
    }
    if (done > 0) {
      segment().stores(++stores);
    }
    return done;
  }

  /** Whether the target knows it if some slice of the first request met memory that is not there. */
  private boolean isToldOfLoss() {
    Loss loss = mover.lostBefore(queue.firstMark());
    if (loss != null && queue.firstStatus() == WorkStatus.SUCCESS) {
      queue.firstLost(loss);
      firstUntold = true;
    }
    if (firstUntold) {
      firstUntold = !tellRefused(queue.firstTransfer());
    }
    return !firstUntold;
  }

  /** Judges the next request; one that is refused ends here. */
  private boolean mayBegin(TransferPlan plan) {
    int before = version(); // what changes while it is judged may be what it lacks
    if (waitingSince == before) {
      return false;
    }
    Verdict verdict = mover.judge(queue.op(), plan, queue.position(), queue.length());
    if (verdict == Verdict.WAITING) {
      waitingSince = before;
      return false;
    }
    waitingSince = -1;
    untold = verdict != Verdict.READY && !tellRefused(queue.transfer());
    if (verdict != Verdict.READY && !untold) {
      queue.begun(0, verdict.status(), 0);
      reap();
    }
    return verdict == Verdict.READY;
  }

  /** Tells the target, which must not deliver what is chained to this; false if there is no room for that now. */
  private boolean tellRefused(long transfer) {
    command.set(Command.REFUSED, 0);
    command.address = transfer;
    boolean told = outgoing().offer(command);
    bell().due();
    return told;
  }

  /** Begins a slice of the next request; −1 if the path failed. */
  private long slice(TransferPlan plan) {
    if (!targetPermits()) {
      return -1;
    }
    begun = true;
    long length = queue.length();
    long moved = mover.move(queue.op(), plan, queue.position(), length);
    if (moved < 0) {
      return moveFailed() ? -1 : 0;
    }
    queue.advance(moved);
    movedSinceLook += moved;
    segment().stores(++stores);
    if (moved == length) {
      begun = false;
      queue.begun(mover.begun(), WorkStatus.SUCCESS, 0);
      reap();
    }
    return moved;
  }

  /** The next request could not be moved: it ends, or the path fails. True if the path has failed. */
  private boolean moveFailed() {
    Loss loss = mover.lost();
    PathFault fault = mover.fault();
    if (fault == null) {
      throw new IllegalStateException(describe() + ": the mover failed without saying why");
    }
    if (loss == null) {
      fail(fault.kind(), fault.detail());
      return true;
    }
    untold = !tellRefused(queue.transfer());
    begun = untold; // once there is room it is tried again, and fails again
    if (!untold) {
      queue.begun(mover.begun(), loss.status(), loss.detail()); // slices before may still be under way
      reap();
    }
    return false;
  }

  @Override
  public boolean hasWork() {
    return (!isOver() && isRunnable())
        || queue.isAnyBegun()
        || unread().isSomeRead()
        || !revoked.isEmpty()
        || (isOver() && !released)
        || (!released && regions.isWaitingForRoom() && outgoing().room() > 0);
  }

  private boolean isRunnable() {
    if (!queue.isAnyWaiting()) {
      return false;
    }
    if (untold) {
      return outgoing().room() > 0;
    }
    return begun || queue.plan() == null || waitingSince != version();
  }

  @Override
  public boolean waitsForRoom() {
    return regions.isWaitingForRoom() || untold || !unread().isEmpty();
  }

  // ------------------------------------------------------------------------------------------ ending

  @Override
  public void failed() {
    letGo();
  }

  @Override
  public void aborted() {
    letGo();
  }

  @Override
  public void peerDied() {}

  /** From here on nothing is stored; whatever waits is given up. */
  private void letGo() {
    if (released || !mover.isIdle() || !mover.end()) {
      return; // work() comes here again
    }
    released = true;
    begun = false;
    segment().state(Side.INITIATOR, PathSegment.OVER);
    bell().due();
    unread().flush();
    while (!queue.isEmpty()) {
      if (queue.firstWorkId() != 0) {
        complete(queue.firstWorkId(), WorkStatus.FLUSHED);
      }
      queue.removeFirst();
    }
  }

  @Override
  public boolean drained() {
    return released && completions().isEmpty() && !isPeerEnding();
  }

  /** The target's sign of life: what it sent, and how far it read. */
  @Override
  public long progress() {
    return received() + writer().readHead() + outgoing().taken();
  }

  @Override
  public void release() {
    letGo();
    bell().ringIfDue();
    if (!released) {
      mover.end(); // nobody waits for what it still holds: the process ends
    }
    regions.close();
  }

  /** For tests: how many regions it keeps track of. */
  public int knownRegions() {
    return regions.count();
  }

  /** For tests: what to add to a lent address to get to the same byte here. */
  public long deltaOf(int region) {
    return regions.get(region).delta();
  }
}
