/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.DriverException;
import dev.hawser.memory.gpu.Gpu;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The lanes of one path: one for each device, found or made in the background when it is needed first. For the path's owner. */
final class GpuLanes {
  private final GpuIpc gpus;
  private final Runnable settled;
  private final List<@Nullable CompletableFuture<GpuLane>> making = new ArrayList<>(); // by ordinal
  private boolean lost;

  /**
   * None yet.
   *
   * @param settled called on any thread when one was made, or could not be
   */
  GpuLanes(GpuIpc gpus, Runnable settled) {
    this.gpus = gpus;
    this.settled = settled;
  }

  /** Whether a device's lane was made, or could not be; begins to make it. */
  boolean isMade(int ordinal) {
    CompletableFuture<GpuLane> lane = made(ordinal);
    if (lane == null) {
      Gpu gpu = gpus.gpu(ordinal);
      GpuLane idle = gpus.lanes().poll(gpu);
      lane =
          idle == null
              ? gpus.inBackground(() -> gpus.lanes().make(gpu))
              : CompletableFuture.completedFuture(idle);
      while (making.size() <= ordinal) {
        making.add(null);
      }
      making.set(ordinal, lane);
      CompletableFuture<GpuLane> _ = lane.whenComplete((_, _) -> settled.run());
    }
    return lane.isDone();
  }

  private @Nullable CompletableFuture<GpuLane> made(int ordinal) {
    return ordinal < making.size() ? making.get(ordinal) : null;
  }

  /** A device's lane; null if it was not made, see {@link #whyNot}. */
  @Nullable
  GpuLane lane(int ordinal) {
    CompletableFuture<GpuLane> lane = made(ordinal);
    return lane == null || !lane.isDone() || lane.isCompletedExceptionally() ? null : lane.resultNow();
  }

  /** Why there is no lane for a device. */
  String whyNot(int ordinal) {
    CompletableFuture<GpuLane> lane = made(ordinal);
    String reason =
        lane == null || !lane.isCompletedExceptionally()
            ? "it was not foreseen"
            : String.valueOf(lane.exceptionNow().getMessage());
    return "no stream on device " + ordinal + ": " + reason;
  }

  /** The device of some lane is lost to this process: it does nothing any more. */
  void lost() {
    lost = true;
  }

  /** Whether no stream has anything to do. One that failed may hold more than its events tell, so the streams are asked. */
  boolean isIdle() {
    boolean idle = true;
    for (int i = 0; i < making.size(); i++) {
      CompletableFuture<GpuLane> made = making.get(i);
      idle &= made == null || made.isDone();
      GpuLane lane = lane(i);
      if (lane != null && !lost) {
        try {
          idle &= lane.isIdle();
        } catch (DriverException e) {
          lost |= e.sticky();
          idle &= lost;
        }
      }
    }
    return idle;
  }

  /** Leaves them to other paths; those of a device that is lost to nobody. They are idle. */
  void giveBack() {
    for (int i = 0; i < making.size() && !lost; i++) {
      GpuLane lane = lane(i);
      if (lane != null) {
        gpus.lanes().give(lane);
      }
    }
    making.clear();
  }
}
