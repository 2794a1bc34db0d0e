/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.BlockPairs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A copy of many blocks, prepared: its tables lie in the memory of the device, so that doing it again costs a launch and
 * nothing per block. Immutable; may be used by the operations of several threads until it is closed.
 */
public final class GpuCopyPlan implements AutoCloseable {
  /** A launch with the place of its table. */
  record Step(CopyLaunch launch, long table) {}

  private final Gpu gpu;
  private final long totalBytes;
  private final List<Step> steps;
  private final List<GpuBuffer> tables;
  private final long[] large; // local address, remote address, bytes of each piece for the copy engine

  private GpuCopyPlan(Gpu gpu, long totalBytes, List<Step> steps, List<GpuBuffer> tables, long[] large) {
    this.gpu = gpu;
    this.totalBytes = totalBytes;
    this.steps = steps;
    this.tables = tables;
    this.large = large;
  }

  /** Its device. */
  public Gpu gpu() {
    return gpu;
  }

  /** Bytes that it copies. */
  public long totalBytes() {
    return totalBytes;
  }

  List<Step> steps() {
    return steps;
  }

  long[] large() {
    return large;
  }

  /** Gives the tables back. No copy by it may be under way. */
  @Override
  public void close() {
    tables.forEach(GpuBuffer::close);
  }

  /** Collects a plan. */
  static final class Builder {
    private final GpuStream stream;
    private final CopyRuns runs = new CopyRuns();
    private final List<Step> steps = new ArrayList<>();
    private final List<GpuBuffer> tables = new ArrayList<>();
    private long[] large = new long[0];

    Builder(GpuStream stream) {
      this.stream = stream;
    }

    GpuCopyPlan build(BlockPairs pairs, TableRing ring) {
      boolean built = false;
      try {
        BlockPairs.Cursor cursor = pairs.cursor();
        while (cursor.next(Long.MAX_VALUE)) {
          add(cursor.localAddress(), cursor.remoteAddress(), cursor.length(), ring);
        }
        flush(ring);
        built = true;
        return new GpuCopyPlan(stream.gpu(), pairs.totalBytes(), List.copyOf(steps), List.copyOf(tables), large);
      } finally {
        if (!built) {
          tables.forEach(GpuBuffer::close);
        }
      }
    }

    private void add(long local, long remote, long bytes, TableRing ring) {
      if (bytes >= GpuDeviceOps.ENGINE_BYTES) {
        large = Arrays.copyOf(large, large.length + 3);
        large[large.length - 3] = local;
        large[large.length - 2] = remote;
        large[large.length - 1] = bytes;
        return;
      }
      if (runs.isFullFor(local, remote, bytes)) {
        flush(ring);
      }
      runs.add(local, remote, bytes);
    }

    private void flush(TableRing ring) {
      if (runs.isEmpty()) {
        return;
      }
      CopyLaunch launch = new CopyLaunch();
      runs.plan(launch);
      long written = ring.take();
      runs.write(launch, written);
      GpuBuffer table = stream.gpu().allocate(launch.tableBytes);
      tables.add(table);
      stream.copy(written, table.address(), launch.tableBytes);
      ring.launched();
      steps.add(new Step(launch, table.address()));
      runs.clear();
    }
  }
}
