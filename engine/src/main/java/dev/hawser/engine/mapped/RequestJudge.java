/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Region;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Judges whether a request may be carried out; a whole plan once, if all of it may. Owner thread only. */
public final class RequestJudge {
  private final PeerRegions regions;
  private final Predicate<Region> usable;
  private final SegmentCursor cursor = new SegmentCursor();

  // What was found out about the plan that was judged last.
  private @Nullable TransferPlan judgedPlan;
  private Op judgedOp = Op.WRITE;
  private int judgedVersion;
  private boolean allReady;

  /**
   * A judge.
   *
   * @param usable whether local memory is of a kind that can be used
   */
  public RequestJudge(PeerRegions regions, Predicate<Region> usable) {
    this.regions = regions;
    this.usable = usable;
  }

  /** Judges a request: nothing of it is moved before all of it may be. */
  public Verdict judge(Op op, TransferPlan plan, long position, long length) {
    if (judgedPlan != plan || judgedOp != op || judgedVersion != regions.version()) {
      if (!localUsable(plan, op)) {
        return Verdict.LOCAL_ACCESS;
      }
      judgedPlan = plan;
      judgedOp = op;
      judgedVersion = regions.version();
      allReady = isWhollyLent(plan, op == Op.WRITE);
    }
    return allReady ? Verdict.READY : judgeSegments(op == Op.WRITE, plan, position, length);
  }

  private boolean localUsable(TransferPlan plan, Op op) {
    for (int i = 0, n = plan.localRegions(); i < n; i++) {
      if (!usable.test(plan.localRegion(i)) || (op == Op.READ && !plan.localRegion(i).writable())) {
        return false;
      }
    }
    return true;
  }

  private boolean isWhollyLent(TransferPlan plan, boolean write) {
    boolean ready = true;
    for (int i = 0, n = plan.remoteRegions(); i < n; i++) {
      RemoteRegion published = plan.remoteRegion(i);
      PeerRegion region = regions.get(published.id());
      // No short cut: every region is asked for at once.
      ready &= region.isLent() && region.permits(write) && region.covers(published);
    }
    return ready;
  }

  private Verdict judgeSegments(boolean write, TransferPlan plan, long position, long length) {
    Verdict verdict = Verdict.READY;
    cursor.start(plan, position, length);
    while (cursor.next()) {
      PeerRegion region = regions.get(cursor.remoteRegion().id());
      if (region.isAwaited()) {
        verdict = Verdict.WAITING;
      } else if (!region.isLent()) {
        return Verdict.of(region.refusal());
      } else if (!region.permits(write) || !region.contains(cursor.remoteAddress(), cursor.length())) {
        return Verdict.REMOTE_ACCESS;
      }
    }
    return verdict;
  }
}
