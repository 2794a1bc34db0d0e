/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Keeps what one batch does, so that it can be done again. */
final class CopyRecorder {
  private final Gpu gpu;
  private final List<GpuCopyPlan.Step> steps = new ArrayList<>();
  private long[] large = new long[3];
  private int largeEnd;
  private long bytes;
  private boolean failed;

  CopyRecorder(Gpu gpu) {
    this.gpu = gpu;
  }

  /** Room for a launch's table, which is to be copied there; 0 if there is none: the batch cannot be done again then. */
  long keep(CopyLaunch launch) {
    long table = failed ? 0 : gpu.tables().take(launch.tableBytes);
    if (table == 0) {
      failed = true;
    } else {
      steps.add(new GpuCopyPlan.Step(launch.copy(), table));
    }
    return table;
  }

  void piece(long pieceBytes) {
    bytes += pieceBytes;
  }

  void large(long local, long remote, long pieceBytes) {
    if (largeEnd == large.length) {
      large = Arrays.copyOf(large, largeEnd * 2);
    }
    large[largeEnd] = local;
    large[largeEnd + 1] = remote;
    large[largeEnd + 2] = pieceBytes;
    largeEnd += 3;
  }

  /** What to do again; null if it was not kept. */
  @Nullable
  GpuCopyPlan finish() {
    Runnable release =
        () -> steps.forEach(step -> gpu.tables().give(step.table(), step.launch().tableBytes));
    if (failed) {
      release.run();
      return null;
    }
    return new GpuCopyPlan(gpu, bytes, List.copyOf(steps), Arrays.copyOf(large, largeEnd), release);
  }
}
