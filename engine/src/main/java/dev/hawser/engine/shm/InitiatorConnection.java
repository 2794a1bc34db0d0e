/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.shm.PathSegment.Side;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.ffi.Errno;
import java.nio.ByteBuffer;
import java.util.ArrayList;

/**
 * The end that moves the bytes. Small requests are done when {@link #postData} returns; larger ones wait in a queue and
 * are moved by slices in {@link #poll}. What is posted behind a waiting request waits too, so that order is kept.
 *
 * <p>A message or a flush is complete when the target has processed it, and may be overtaken by the completion of data that
 * were posted behind it. What lies in the ring is processed even after a fence or the death of this process, but not after
 * the death of the target: it cannot stand for an acknowledgement.
 */
final class InitiatorConnection extends ShmConnection {
  /** Requests up to this size are moved on the caller's thread at once. */
  static final long AT_ONCE_BYTES = 64 << 10;

  private static final long BYTES_PER_POLL = DataMover.SLICE_BYTES;
  private static final int STEPS_PER_POLL = 256;

  private final ProcFiles proc;
  private final KernelCopy kernel;
  private final PeerRegions regions;
  private final DataMover mover;
  private final WorkQueue queue = new WorkQueue();
  private final Command command = new Command();
  private final ArrayList<PeerRegion> revoked = new ArrayList<>();
  private long stores;
  private boolean begun;
  private boolean released;
  // The version of the regions at which the first request was found to wait; −1: it was not judged yet.
  private int waitingSince = -1;
  // The first request is refused, and there was no room to tell the target.
  private boolean untold;

  InitiatorConnection(PathEnds ends, ProcFiles proc, DeviceOps host, Populator populator) {
    super(ends);
    this.proc = proc;
    this.kernel = new KernelCopy(ends.peer().pid());
    this.regions = new PeerRegions(ends.peer(), proc, outgoing(), populator);
    this.mover = new DataMover(regions, host, kernel);
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
      regions.get(region.id());
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
    if (queue.isEmpty() && length <= AT_ONCE_BYTES) {
      Verdict verdict = mover.judge(op, plan, position, length);
      if (verdict == Verdict.READY) {
        if (!targetPermits()) {
          return false;
        }
        long moved = mover.move(op, plan, position, length, length);
        if (moved == length) {
          segment().stores(++stores);
          complete(workId, WorkStatus.SUCCESS);
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
    queue.addData(workId, request.transfer(), op, plan, position, length);
    return true;
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
    }
    return true;
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
  int look(long targetState) {
    if (isNews(targetState)) {
      fail(PathFault.Kind.RESET, "the target closed the path");
      return 1;
    }
    return 0;
  }

  @Override
  boolean isNews(long targetState) {
    return targetState == PathSegment.OVER && !isOver();
  }

  /** Looks at the target's word: called before every slice. */
  private boolean targetPermits() {
    return look(segment().state(Side.TARGET)) == 0;
  }

  @Override
  boolean mayTakeCommand() {
    return true;
  }

  @Override
  void commanded(Command command, ConnectionEvents events) {
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
      default -> fail(PathFault.Kind.PROTOCOL, "the target sent command " + command.kind);
    }
  }

  @Override
  int work() {
    int done = isOver() ? 0 : advance();
    done += unread().complete();
    if (!revoked.isEmpty() && !begun) {
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

  /** Carries out what waits, as much as one poll may. */
  private int advance() {
    long bytes = 0;
    int steps = 0;
    while (!queue.isEmpty() && bytes < BYTES_PER_POLL && steps < STEPS_PER_POLL && !isOver()) {
      TransferPlan plan = queue.plan();
      if (plan == null) {
        publish(queue.workId(), queue.position());
        queue.remove();
      } else if (begun || mayBegin(plan)) {
        long moved = slice(plan);
        if (moved < 0) {
          return steps + 1;
        }
        bytes += moved;
      } else if (waitingSince >= 0 || untold) {
        return steps;
      }
      steps++;
    }
    return steps;
  }

  /** Judges the first request; one that is refused ends here. */
  private boolean mayBegin(TransferPlan plan) {
    if (waitingSince == regions.version()) {
      return false;
    }
    Verdict verdict = mover.judge(queue.op(), plan, queue.position(), queue.length());
    if (verdict == Verdict.WAITING) {
      waitingSince = regions.version();
      return false;
    }
    waitingSince = -1;
    untold = verdict != Verdict.READY && !tellRefused(queue.transfer());
    if (verdict != Verdict.READY && !untold) {
      complete(queue.workId(), verdict.status());
      queue.remove();
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

  /** Moves a slice of the first request; −1 if the path failed. */
  private long slice(TransferPlan plan) {
    if (!targetPermits()) {
      return -1;
    }
    begun = true;
    long length = queue.length();
    long moved = mover.move(queue.op(), plan, queue.position(), length, DataMover.SLICE_BYTES);
    if (moved < 0) {
      moveFailed();
      return -1;
    }
    queue.advance(moved);
    segment().stores(++stores);
    if (moved == length) {
      begun = false;
      complete(queue.workId(), WorkStatus.SUCCESS);
      queue.remove();
    }
    return moved;
  }

  private void moveFailed() {
    int errno = mover.errno();
    if (errno == 0) {
      fail(
          PathFault.Kind.WORK_ERROR,
          "registered memory is not there any more: a file behind it was truncated, here or in " + peer());
      return;
    }
    PathFault.Kind kind =
        switch (errno) {
          case Errno.EPERM -> PathFault.Kind.UNREACHABLE;
          case Errno.ESRCH -> PathFault.Kind.RESET;
          default -> PathFault.Kind.WORK_ERROR;
        };
    fail(kind, KernelCopy.explain(errno, peer().pid(), proc));
  }

  @Override
  boolean hasWork() {
    return (!isOver() && isRunnable())
        || unread().isSomeRead()
        || (!revoked.isEmpty() && !begun)
        || (!released && regions.isWaitingForRoom() && outgoing().room() > 0);
  }

  private boolean isRunnable() {
    if (queue.isEmpty()) {
      return false;
    }
    if (untold) {
      return outgoing().room() > 0;
    }
    return begun || queue.plan() == null || waitingSince != regions.version();
  }

  @Override
  boolean waitsForRoom() {
    return regions.isWaitingForRoom() || untold || !unread().isEmpty();
  }

  // ------------------------------------------------------------------------------------------ ending

  @Override
  void failed() {
    letGo();
  }

  @Override
  void aborted() {
    letGo();
  }

  @Override
  void peerDied() {}

  /** From here on nothing is stored; whatever waits is given up. */
  private void letGo() {
    if (released) {
      return;
    }
    released = true;
    begun = false;
    segment().state(Side.INITIATOR, PathSegment.OVER);
    bell().due();
    unread().flush();
    while (!queue.isEmpty()) {
      if (queue.workId() != 0) {
        complete(queue.workId(), WorkStatus.FLUSHED);
      }
      queue.remove();
    }
  }

  @Override
  public boolean drained() {
    return released && completions().isEmpty();
  }

  /** The target's sign of life: what it sent, and how far it read. */
  @Override
  public long progress() {
    return received() + writer().readHead();
  }

  @Override
  void release() {
    letGo();
    bell().ringIfDue();
    regions.close();
    kernel.close();
  }

  /** For tests: how many regions it keeps track of. */
  int knownRegions() {
    return regions.count();
  }

  /** For tests: what to add to a lent address to get to the same byte here. */
  long deltaOf(int region) {
    return regions.get(region).delta();
  }
}
