/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.gpu.GpuCopyPlan;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * Copies that were made once and can be made again at the cost of a launch: their tables lie on the device. Found by the plan
 * they are a part of; they go when that goes. For the path's owner.
 */
final class KeptCopies {
  /** One slice of a plan, as it was moved before. */
  static final class Kept {
    final GpuLane lane;
    final GpuCopyPlan copy;
    private final GpuStrand first;
    private final long mark;
    private final long position;
    private final @Nullable Kept next;

    private Kept(GpuLane lane, GpuStrand first, long mark, GpuCopyPlan copy, long position, @Nullable Kept next) {
      this.lane = lane;
      this.first = first;
      this.mark = mark;
      this.copy = copy;
      this.position = position;
      this.next = next;
    }

    /** Where it can be made again: on any stream only when its tables are there. */
    GpuStrand strand() {
      return first.progress().isDone(mark) ? lane.next() : first;
    }
  }

  private static final class Entry extends WeakReference<TransferPlan> {
    private final int hash;
    private @Nullable Kept first;
    private @Nullable Entry next;

    private Entry(TransferPlan plan, int hash, ReferenceQueue<TransferPlan> dropped) {
      super(plan, dropped);
      this.hash = hash;
    }

    private void release() {
      for (Kept kept = first; kept != null; kept = kept.next) {
        kept.copy.close();
      }
      first = null;
    }
  }

  private static final int BUCKETS = 1 << 10;

  private final ReferenceQueue<TransferPlan> dropped = new ReferenceQueue<>();
  private final @Nullable Entry[] buckets = new @Nullable Entry[BUCKETS];
  private int count;

  /** The slice of a plan that begins at a position, and is at most so long; null if none was kept. */
  @Nullable
  Kept find(TransferPlan plan, long position, long length) {
    if (count == 0) {
      return null;
    }
    Entry entry = entry(plan);
    for (Kept kept = entry == null ? null : entry.first; kept != null; kept = kept.next) {
      if (kept.position == position && kept.copy.totalBytes() <= length) {
        return kept;
      }
    }
    return null;
  }

  private @Nullable Entry entry(TransferPlan plan) {
    int hash = System.identityHashCode(plan);
    for (Entry entry = buckets[hash & BUCKETS - 1]; entry != null; entry = entry.next) {
      if (entry.hash == hash && entry.refersTo(plan)) {
        return entry;
      }
    }
    return null;
  }

  /**
   * Keeps what was just put on a stream.
   *
   * @param mark of the stream behind it
   */
  void keep(TransferPlan plan, long position, GpuLane lane, GpuStrand strand, long mark, GpuCopyPlan copy) {
    expunge();
    Entry entry = entry(plan);
    if (entry == null) {
      entry = new Entry(plan, System.identityHashCode(plan), dropped);
      int bucket = entry.hash & BUCKETS - 1;
      entry.next = buckets[bucket];
      buckets[bucket] = entry;
      count++;
    }
    entry.first = new Kept(lane, strand, mark, copy, position, entry.first);
  }

  /** A plan that nobody holds is not under way either. */
  private void expunge() {
    for (Object gone = dropped.poll(); gone != null; gone = dropped.poll()) {
      remove((Entry) gone);
    }
  }

  private void remove(Entry gone) {
    int bucket = gone.hash & BUCKETS - 1;
    Entry before = null;
    for (Entry entry = buckets[bucket]; entry != null; before = entry, entry = entry.next) {
      if (entry == gone) {
        if (before == null) {
          buckets[bucket] = entry.next;
        } else {
          before.next = entry.next;
        }
        count--;
        gone.release();
        return;
      }
    }
  }

  /** Forgets all: addresses on the way change. Nothing of it is under way. */
  void clear() {
    for (int i = 0; i < BUCKETS; i++) {
      for (Entry entry = buckets[i]; entry != null; entry = entry.next) {
        entry.release();
      }
      buckets[i] = null;
    }
    count = 0;
  }
}
