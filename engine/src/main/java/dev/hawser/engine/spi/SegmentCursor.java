/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Walks the segments of a range of a plan: maximal pieces that are contiguous on both sides and lie
 * in one region on each. Reused; not thread-safe; allocates only when it meets a plan of more axes than any before.
 */
public final class SegmentCursor {
  private @Nullable TransferPlan plan;
  private BlockPairs.@Nullable Cursor cursor;
  private long remaining;
  private int localIndex;
  private int remoteIndex;

  /** A cursor that stands nowhere; {@link #start} before use. */
  public SegmentCursor() {}

  /** Stands before the first segment of {@code [position, position + length)}. */
  public void start(TransferPlan newPlan, long position, long length) {
    if (plan != newPlan) {
      plan = newPlan;
      BlockPairs.Cursor present = cursor;
      cursor = present == null ? newPlan.pairs().cursor() : present.reset(newPlan.pairs());
      localIndex = 0;
      remoteIndex = 0;
    }
    cursor().seek(position);
    remaining = length;
  }

  /** Goes to the next segment; false at the end of the range. */
  public boolean next() {
    if (remaining == 0) {
      return false;
    }
    BlockPairs.Cursor c = cursor();
    if (!c.next(remaining)) {
      throw new IllegalStateException("range ends behind the plan: " + remaining + " bytes left");
    }
    findLocal(c.localAddress(), c.length());
    findRemote(c.remoteAddress(), c.length());
    long fitting = Math.min(fittingLocally(c), fittingRemotely(c));
    if (fitting < c.length()) {
      // Blocks that continue each other were joined, though they lie in regions that only touch.
      c.seek(c.position() - c.length());
      c.next(fitting);
    }
    remaining -= c.length();
    return true;
  }

  private long fittingLocally(BlockPairs.Cursor c) {
    Region region = localRegion();
    return Math.min(c.length(), region.length() - (c.localAddress() - region.address()));
  }

  private long fittingRemotely(BlockPairs.Cursor c) {
    RemoteRegion region = remoteRegion();
    return Math.min(c.length(), region.length() - (c.remoteAddress() - region.address()));
  }

  /** Finds the region that holds all of a piece, else one that holds its first byte; begins where it found the last. */
  private void findLocal(long address, long bytes) {
    TransferPlan p = plan();
    int n = p.localRegions();
    int beginning = -1;
    for (int tried = 0; tried < n; tried++) {
      int index = localIndex + tried < n ? localIndex + tried : localIndex + tried - n;
      if (p.localRegion(index).contains(address, bytes)) {
        localIndex = index;
        return;
      }
      if (beginning < 0 && p.localRegion(index).contains(address, 1)) {
        beginning = index;
      }
    }
    if (beginning < 0) {
      throw new IllegalStateException("no local region holds 0x" + Long.toHexString(address));
    }
    localIndex = beginning;
  }

  /** As {@link #findLocal}, on the other side. */
  private void findRemote(long address, long bytes) {
    TransferPlan p = plan();
    int n = p.remoteRegions();
    int beginning = -1;
    for (int tried = 0; tried < n; tried++) {
      int index = remoteIndex + tried < n ? remoteIndex + tried : remoteIndex + tried - n;
      if (p.remoteRegion(index).contains(address, bytes)) {
        remoteIndex = index;
        return;
      }
      if (beginning < 0 && p.remoteRegion(index).contains(address, 1)) {
        beginning = index;
      }
    }
    if (beginning < 0) {
      throw new IllegalStateException("no remote region holds 0x" + Long.toHexString(address));
    }
    remoteIndex = beginning;
  }

  public long localAddress() {
    return cursor().localAddress();
  }

  public long remoteAddress() {
    return cursor().remoteAddress();
  }

  public long length() {
    return cursor().length();
  }

  /** The local region of the present segment. */
  public Region localRegion() {
    return plan().localRegion(localIndex);
  }

  /** The remote region of the present segment. */
  public RemoteRegion remoteRegion() {
    return plan().remoteRegion(remoteIndex);
  }

  private TransferPlan plan() {
    TransferPlan p = plan;
    if (p == null) {
      throw new IllegalStateException("start() was not called");
    }
    return p;
  }

  private BlockPairs.Cursor cursor() {
    BlockPairs.Cursor c = cursor;
    if (c == null) {
      throw new IllegalStateException("start() was not called");
    }
    return c;
  }
}
