/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.engine.mapped.PathSegment.Side;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The end whose memory is read and written by the other. It lends regions, delivers what the rings bring, and keeps memory
 * in quarantine until the initiator has let go or is dead.
 *
 * <p>A message is complete when the initiator has processed it, for the initiator's fence must not wait for this side.
 */
public final class TargetConnection extends MappedConnection {
  private static final System.Logger LOG = System.getLogger("dev.hawser.shm");

  private final LentRegions lent;
  private final TargetMover mover;
  private final Consumer<TargetConnection> onClose;

  // A region that was asked for, and waits for what its bytes are moved through; 0: none.
  private int asked;

  private boolean initiatorOver;
  private boolean letGo;
  private volatile boolean regionsClosing;

  public TargetConnection(
      PathEnds ends, MemoryRegistry registry, Function<Region, @Nullable Refusal> judge, TargetMover mover,
      Consumer<TargetConnection> onClose) {
    super(ends);
    this.mover = mover;
    this.lent = new LentRegions(registry, outgoing(), region -> refusal(region, judge));
    this.onClose = onClose;
  }

  private @Nullable Refusal refusal(Region region, Function<Region, @Nullable Refusal> judge) {
    Refusal refusal = judge.apply(region);
    return refusal == null && !mover.canMove(region) ? Refusal.NOT_PERMITTED : refusal;
  }

  /** A region of the registry is closing; if it is lent here, it is asked back. Any thread. */
  public void regionClosing() {
    regionsClosing = true;
    bell().wakeSelf();
  }

  // ------------------------------------------------------------------------------------------ posting

  @Override
  public int segmentBudget() {
    boolean room = !isOver() && hasRoom(unread().size() + completions().size());
    if (!room) {
      starved();
    }
    return room ? MAX_SEGMENTS : 0;
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    throw new IllegalStateException(describe() + ": only the initiator's end moves data");
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    throw new IllegalStateException(describe() + ": only the initiator's end flushes");
  }

  @Override
  public boolean postMessage(long workId, ByteBuffer message) {
    if (message.remaining() > MAX_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "a message of " + message.remaining() + " bytes; at most " + MAX_MESSAGE_BYTES + " fit");
    }
    if (isOver()) {
      return false;
    }
    if (unread().size() + completions().size() >= Completions.CAPACITY || !writer().write(message)) {
      starved();
      return false;
    }
    if (workId != 0) {
      unread().add(workId, writer().written());
    }
    writer().publish(writer().written());
    bell().due();
    return true;
  }

  // ------------------------------------------------------------------------------------------ polling

  @Override
  public int look(long initiatorState) {
    if (isNews(initiatorState)) {
      initiatorOver = true;
      return 1;
    }
    return 0;
  }

  @Override
  public boolean isNews(long initiatorState) {
    return initiatorState == PathSegment.OVER && !initiatorOver;
  }

  @Override
  public void peerDied() {
    initiatorOver = true;
  }

  @Override
  public boolean mayTakeCommand() {
    // The answer for a region of a device may be two.
    return asked == 0 && lent.mayAnswer() && outgoing().room() > 1;
  }

  @Override
  public void commanded(Command command, ConnectionEvents events) {
    switch (command.kind) {
      case Command.MAP -> {
        if (!isOver()) {
          asked = command.region;
          answer();
        }
      }
      case Command.MOVE -> {
        if (!isOver()) {
          String complaint = mover.move(command, lent);
          if (!complaint.isEmpty()) {
            fail(PathFault.Kind.PROTOCOL, complaint);
          }
        }
      }
      case Command.RELEASED -> lent.returned(command.region);
      case Command.REFUSED -> events.refused(this, command.address);
      case Command.ALIVE -> {
        // that it came counts: see received()
      }
      default -> fail(PathFault.Kind.PROTOCOL, "the initiator sent command " + command.kind);
    }
  }

  /** Answers for the region that was asked for, unless it has to wait. */
  private void answer() {
    Region region = lent.asked(asked);
    if (region != null && !mover.isReady(region, outgoing())) {
      return;
    }
    lent.answer(asked);
    asked = 0;
    bell().due();
  }

  private int moveOn() {
    if (isOver()) {
      asked = 0;
    } else if (asked != 0) {
      answer();
    }
    int done = 0;
    try {
      done = mover.work(outgoing(), isOver());
    } catch (DriverException e) {
      fail(PathFault.Kind.WORK_ERROR, String.valueOf(e.getMessage()));
    }
    if (done > 0) {
      bell().due();
    }
    return done;
  }

  @Override
  public int work() {
    int done = unread().complete();
    done += moveOn();
    if (regionsClosing) {
      regionsClosing = false;
      done += revoked(lent.revokeClosing());
    } else if (lent.isWaitingForRoom()) {
      done += revoked(lent.sendRevokes());
    }
    if (mayLetGo()) {
      if (!isOver()) {
        fail(PathFault.Kind.RESET, "the initiator closed the path");
      }
      letGo = true;
      mover.end();
      lent.releaseAll();
      done++;
    }
    return done;
  }

  private int revoked(int sent) {
    if (sent > 0) {
      bell().due();
    }
    return sent;
  }

  /** The initiator's word, or death, was seen before its ring was found empty. */
  private boolean mayLetGo() {
    return initiatorOver && !letGo && isReadOut() && mover.isIdle();
  }

  @Override
  public boolean hasWork() {
    return regionsClosing
        || asked != 0
        || mover.hasWork()
        || (initiatorOver && !letGo && !mover.isIdle())
        || mayLetGo()
        || (lent.isWaitingForRoom() && outgoing().room() > 0)
        || unread().isSomeRead();
  }

  @Override
  public boolean waitsForRoom() {
    return !unread().isEmpty() || lent.isWaitingForRoom() || !mayTakeCommand();
  }

  // ------------------------------------------------------------------------------------------ ending

  @Override
  public void failed() {
    closePath();
  }

  @Override
  public void aborted() {
    closePath();
  }

  private void closePath() {
    segment().state(Side.TARGET, PathSegment.OVER);
    bell().due();
    unread().flush();
  }

  @Override
  public boolean drained() {
    return isOver() && letGo && completions().isEmpty();
  }

  /** The initiator's sign of life: what it sent, and what it says that it stored. */
  @Override
  public long progress() {
    return received() + segment().stores();
  }

  @Override
  public void release() {
    closePath();
    bell().ringIfDue();
    onClose.accept(this);
    if (!letGo && lent.size() > 0) {
      LOG.log(
          System.Logger.Level.WARNING,
          "{0} is closed before the initiator let go: {1} regions stay in quarantine until this process ends",
          describe(),
          lent.size());
    }
  }
}
