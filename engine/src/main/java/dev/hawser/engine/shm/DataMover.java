/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.DeviceOps;
import org.jspecify.annotations.Nullable;

/**
 * Judges requests and carries them out, slice by slice, on the caller's thread. Owner thread only; allocates nothing in
 * steady state.
 */
final class DataMover {
  /** The most bytes that are moved between two looks at the target's word: some 200 µs. Smaller ones miss the copy that
   * streams past the cache. */
  static final long SLICE_BYTES = 4 << 20;

  /** The most segments of a slice. */
  static final int SLICE_SEGMENTS = 1024;

  private static final int POPULATED_BLOCKS = 4;

  private final PeerRegions regions;
  private final DeviceOps host;
  private final KernelCopy kernel;
  private final SegmentCursor cursor = new SegmentCursor();

  // What was found out about the plan that was judged last.
  private @Nullable TransferPlan judgedPlan;
  private Op judgedOp = Op.WRITE;
  private int judgedVersion;
  private boolean allReady;

  // The region met last.
  private @Nullable RemoteRegion lastRemote;
  private @Nullable PeerRegion lastPeer;

  private int errno;

  DataMover(PeerRegions regions, DeviceOps host, KernelCopy kernel) {
    this.regions = regions;
    this.host = host;
    this.kernel = kernel;
  }

  /** Judges a request: nothing of it is moved before all of it may be. */
  Verdict judge(Op op, TransferPlan plan, long position, long length) {
    if (judgedPlan != plan || judgedOp != op || judgedVersion != regions.version()) {
      if (!localUsable(plan, op)) {
        return Verdict.LOCAL_ACCESS;
      }
      judgedPlan = plan;
      lastRemote = null;
      judgedOp = op;
      judgedVersion = regions.version();
      allReady = isWhollyLent(plan, op == Op.WRITE);
    }
    return allReady ? Verdict.READY : judgeSegments(op == Op.WRITE, plan, position, length);
  }

  private static boolean localUsable(TransferPlan plan, Op op) {
    for (int i = 0, n = plan.localRegions(); i < n; i++) {
      if (!plan.localRegion(i).device().isHost() || (op == Op.READ && !plan.localRegion(i).writable())) {
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

  /**
   * Moves the next slice of a request that was judged {@link Verdict#READY}.
   *
   * @param position where in the plan it begins
   * @param length bytes left of the request
   * @param limit the most bytes to move
   * @return bytes moved, more than 0 unless {@code length} is 0; −1 if memory was not there or the kernel refused, see
   *     {@link #errno}
   */
  long move(Op op, TransferPlan plan, long position, long length, long limit) {
    try {
      return slice(op == Op.WRITE, plan, position, length, limit);
    } catch (InternalError e) {
      // How the JVM reports SIGBUS: somebody truncated the file behind a mapping.
      errno = 0;
      return -1;
    }
  }

  @SuppressWarnings("ReferenceEquality") // the very object that was met last; comparing its parts would cost more
  private long slice(boolean write, TransferPlan plan, long position, long length, long limit) {
    cursor.start(plan, position, Math.min(length, limit));
    long moved = 0;
    int populated = 0;
    for (int segments = 0; segments < SLICE_SEGMENTS && populated < POPULATED_BLOCKS && cursor.next(); segments++) {
      RemoteRegion remote = cursor.remoteRegion();
      PeerRegion region = lastPeer;
      if (remote != lastRemote || region == null) {
        region = regions.get(remote.id());
        lastPeer = region;
        lastRemote = remote;
      }
      long bytes = cursor.length();
      long here = cursor.localAddress();
      PeerMapping mapping = region.mapping();
      if (mapping == null) {
        if (kernel.isFull() && !runKernel(write)) {
          return -1;
        }
        kernel.add(here, cursor.remoteAddress(), bytes);
      } else {
        long there = cursor.remoteAddress() + region.delta();
        if (!mapping.isPopulated()) {
          populated += mapping.populate(there, bytes, POPULATED_BLOCKS);
        }
        if (write) {
          host.copy(here, there, bytes);
        } else {
          host.copy(there, here, bytes);
        }
      }
      moved += bytes;
    }
    return kernel.isEmpty() || runKernel(write) ? moved : -1;
  }

  private boolean runKernel(boolean write) {
    errno = kernel.run(write);
    return errno == 0;
  }

  /** Why {@link #move} failed: the kernel's error number, or 0 if memory was not there. */
  int errno() {
    return errno;
  }
}
