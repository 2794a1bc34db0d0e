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
 * in one region on each. Reused; not thread-safe; allocates only when it meets another plan.
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
      cursor = newPlan.pairs().cursor();
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
    remaining -= c.length();
    return true;
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
    TransferPlan p = plan();
    long address = localAddress();
    long bytes = length();
    for (int tried = 0, n = p.localRegions(); tried < n; tried++) {
      Region region = p.localRegion(localIndex);
      if (region.contains(address, bytes)) {
        return region;
      }
      localIndex = localIndex + 1 == n ? 0 : localIndex + 1;
    }
    throw new IllegalStateException("no local region holds 0x" + Long.toHexString(address));
  }

  /** The remote region of the present segment. */
  public RemoteRegion remoteRegion() {
    TransferPlan p = plan();
    long address = remoteAddress();
    long bytes = length();
    for (int tried = 0, n = p.remoteRegions(); tried < n; tried++) {
      RemoteRegion region = p.remoteRegion(remoteIndex);
      if (region.contains(address, bytes)) {
        return region;
      }
      remoteIndex = remoteIndex + 1 == n ? 0 : remoteIndex + 1;
    }
    throw new IllegalStateException("no remote region holds 0x" + Long.toHexString(address));
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
