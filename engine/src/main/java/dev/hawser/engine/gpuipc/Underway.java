/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.gpu.GpuProgress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** The slices that are under way, in the order of beginning: each ends with a mark on a lane, or with a task. For the path's owner. */
final class Underway {
  /** What stands for the end of one. */
  private static final class End {
    private @Nullable GpuProgress progress;
    private long mark;
    private @Nullable CompletableFuture<Boolean> task;

    boolean isDone() {
      GpuProgress awaited = progress;
      return awaited != null ? awaited.isDone(mark) : isTaskDone();
    }

    boolean isTaskDone() {
      CompletableFuture<Boolean> awaited = task;
      if (awaited == null || !awaited.isDone()) {
        return awaited == null;
      }
      try {
        return awaited.join();
      } catch (CompletionException e) {
        throw e.getCause() instanceof RuntimeException cause ? cause : e;
      }
    }

    boolean isTaskRunning() {
      CompletableFuture<Boolean> awaited = task;
      return awaited != null && !awaited.isDone();
    }
  }

  private final End[] ends;
  private long begun;
  private long done;

  Underway(int depth) {
    this.ends = new End[depth];
    for (int i = 0; i < depth; i++) {
      ends[i] = new End();
    }
  }

  boolean isFull() {
    return begun - done == ends.length;
  }

  void began(GpuProgress progress, long mark) {
    End end = ends[(int) (begun % ends.length)];
    end.progress = progress;
    end.mark = mark;
    end.task = null;
    begun++;
  }

  /** The task gives true, or what made it fail. */
  void began(CompletableFuture<Boolean> task) {
    End end = ends[(int) (begun % ends.length)];
    end.progress = null;
    end.task = task;
    begun++;
  }

  long begun() {
    return begun;
  }

  long done() {
    return done;
  }

  /**
   * Finds out what is done.
   *
   * @throws dev.hawser.memory.DriverException what made one fail
   */
  void look() {
    while (done != begun && ends[(int) (done % ends.length)].isDone()) {
      done++;
    }
  }

  /** Whether a task still runs. */
  boolean isAnyTask() {
    for (End end : ends) {
      if (end.isTaskRunning()) {
        return true;
      }
    }
    return false;
  }
}
