/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Command;
import dev.hawser.engine.mapped.Loss;
import dev.hawser.engine.mapped.Mover;
import dev.hawser.engine.mapped.Verdict;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.TransferPlan;
import org.jspecify.annotations.Nullable;

/** Moves what is the host's on both sides by the processor, and what concerns devices through slots. Owner thread only. */
final class ShmMover implements Mover {
  private final HostMover host;
  private final StagedMover staged;

  // The plan met last.
  private @Nullable TransferPlan lastPlan;
  private boolean lastStaged;

  ShmMover(HostMover host, StagedMover staged) {
    this.host = host;
    this.staged = staged;
  }

  private boolean isStaged(TransferPlan plan) {
    if (plan != lastPlan) {
      lastPlan = plan;
      lastStaged = touchesDevices(plan);
    }
    return lastStaged;
  }

  private static boolean touchesDevices(TransferPlan plan) {
    for (int i = 0; i < plan.localRegions(); i++) {
      if (!plan.localRegion(i).device().isHost()) {
        return true;
      }
    }
    for (int i = 0; i < plan.remoteRegions(); i++) {
      if (!plan.remoteRegion(i).device().isHost()) {
        return true;
      }
    }
    return false;
  }

  @Override
  public Verdict judge(Op op, TransferPlan plan, long position, long length) {
    return isStaged(plan) ? staged.judge(op, plan, position, length) : host.judge(op, plan, position, length);
  }

  @Override
  public int version() {
    return staged.version();
  }

  @Override
  public boolean movesAtOnce(TransferPlan plan, long bytes) {
    return !isStaged(plan) && host.movesAtOnce(plan, bytes);
  }

  @Override
  public boolean commanded(Command command) {
    return staged.commanded(command);
  }

  @Override
  public boolean hasSent() {
    return staged.hasSent();
  }

  @Override
  public String localObstacle() {
    return staged.localObstacle();
  }

  @Override
  public long sliceBytes() {
    return host.sliceBytes();
  }

  @Override
  public long move(Op op, TransferPlan plan, long position, long length) {
    return isStaged(plan) ? staged.move(op, plan, position, length) : host.move(op, plan, position, length);
  }

  @Override
  public long begun() {
    return staged.begun();
  }

  @Override
  public boolean isDone(long number) {
    return staged.isDone(number);
  }

  @Override
  public boolean isIdle() {
    return staged.isIdle();
  }

  @Override
  public @Nullable Loss lost() {
    return host.lost();
  }

  @Override
  public @Nullable Loss lostBefore(long number) {
    return staged.lostBefore(number);
  }

  @Override
  public @Nullable PathFault fault() {
    PathFault found = staged.fault();
    return found == null ? host.fault() : found;
  }

  @Override
  public boolean end() {
    staged.end();
    return host.end();
  }
}
