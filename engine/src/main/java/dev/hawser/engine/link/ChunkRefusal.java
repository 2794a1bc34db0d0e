/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Region;
import java.util.function.Supplier;

/** Says why a chunk could not be moved, of which memory, and what to do about it. */
final class ChunkRefusal {
  private ChunkRefusal() {}

  /**
   * In one line.
   *
   * @param peer the target's name
   * @param position where in the plan the chunk begins
   * @param detail the connection's, see {@link dev.hawser.engine.spi.ConnectionEvents#completed}
   * @param localObstacle what is wrong with local memory that cannot be used
   */
  static String explain(
      TransferPlan plan, String peer, WorkStatus status, long position, long detail, Supplier<String> localObstacle) {
    return switch (status) {
      case REMOTE_REGION_CLOSED -> "the target closed that region; fetch its metadata again" + code(detail);
      case LOCAL_ACCESS -> "local memory cannot be used; " + localObstacle.get() + code(detail);
      case REMOTE_UNMAPPED ->
        "the memory of %s at %s is gone: its file was truncated, or it was unmapped, while it was registered; close a region there before its memory goes"
            .formatted(remote(plan, position, detail), peer);
      case LOCAL_UNMAPPED ->
        "the memory of %s is gone%s: its file was truncated, or it was unmapped, while it was registered; close a region before its memory goes"
            .formatted(local(plan, position, detail), detail == 0 ? "" : " at 0x%x".formatted(detail));
      case REMOTE_ACCESS, SUCCESS, FLUSHED, WITHDRAWN ->
        "the target refused key, range or permission; compare with its registration" + code(detail);
    };
  }

  private static String code(long detail) {
    return detail == 0 ? "" : " (code " + detail + ")";
  }

  private static RemoteRegion remote(TransferPlan plan, long position, long id) {
    for (int i = 0; i < plan.remoteRegions(); i++) {
      if (Integer.toUnsignedLong(plan.remoteRegion(i).id()) == id) {
        return plan.remoteRegion(i);
      }
    }
    return at(plan, position).remoteRegion();
  }

  private static Region local(TransferPlan plan, long position, long address) {
    for (int i = 0; i < plan.localRegions(); i++) {
      if (plan.localRegion(i).contains(address, 1)) {
        return plan.localRegion(i);
      }
    }
    return at(plan, position).localRegion();
  }

  private static SegmentCursor at(TransferPlan plan, long position) {
    SegmentCursor cursor = new SegmentCursor();
    cursor.start(plan, position, 1);
    if (!cursor.next()) {
      throw new IllegalStateException("a chunk begins at byte " + position + " of " + plan.totalBytes());
    }
    return cursor;
  }
}
