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
  private final Runnable release;
  private final long[] large; // local address, remote address, bytes of each piece for the copy engine

  /**
   * A plan.
   *
   * @param release gives the tables back
   */
  GpuCopyPlan(Gpu gpu, long totalBytes, List<Step> steps, long[] large, Runnable release) {
    this.gpu = gpu;
    this.totalBytes = totalBytes;
    this.steps = steps;
    this.large = large;
    this.release = release;
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
    release.run();
  }

  /** Collects a plan. */
  static final class Builder implements CopyBatch.Target {
    private final GpuStream stream;
    private final TableRing ring;
    private final CopyBatch batch = new CopyBatch(this);
    private final List<Step> steps = new ArrayList<>();
    private final List<GpuBuffer> tables = new ArrayList<>();
    private long[] large = new long[24];
    private int largeEnd;
    private long room;

    Builder(GpuStream stream, TableRing ring) {
      this.stream = stream;
      this.ring = ring;
    }

    GpuCopyPlan build(BlockPairs pairs, long engineBytes) {
      boolean built = false;
      try {
        BlockPairs.Cursor cursor = pairs.cursor();
        while (cursor.nextRow(Long.MAX_VALUE)) {
          add(cursor, engineBytes);
        }
        batch.submit();
        built = true;
        return new GpuCopyPlan(
            stream.gpu(),
            pairs.totalBytes(),
            List.copyOf(steps),
            Arrays.copyOf(large, largeEnd),
            () -> tables.forEach(GpuBuffer::close));
      } finally {
        if (!built) {
          tables.forEach(GpuBuffer::close);
        }
      }
    }

    private void add(BlockPairs.Cursor cursor, long engineBytes) {
      if (cursor.length() < engineBytes) {
        batch.addRow(
            cursor.localAddress(),
            cursor.remoteAddress(),
            cursor.localStride(),
            cursor.remoteStride(),
            cursor.length(),
            cursor.pieces());
        return;
      }
      for (int piece = 0; piece < cursor.pieces(); piece++) {
        copy(
            cursor.localAddress() + piece * cursor.localStride(),
            cursor.remoteAddress() + piece * cursor.remoteStride(),
            cursor.length());
      }
    }

    @Override
    public long room() {
      room = ring.take();
      return room;
    }

    @Override
    public void launch(CopyLaunch launch) {
      GpuBuffer table = stream.gpu().allocate(launch.tableBytes);
      tables.add(table);
      stream.copy(room, table.address(), launch.tableBytes);
      ring.launched();
      steps.add(new Step(launch.copy(), table.address()));
    }

    @Override
    public void copy(long local, long remote, long bytes) {
      if (largeEnd == large.length) {
        large = Arrays.copyOf(large, largeEnd * 2);
      }
      large[largeEnd] = local;
      large[largeEnd + 1] = remote;
      large[largeEnd + 2] = bytes;
      largeEnd += 3;
    }
  }
}
