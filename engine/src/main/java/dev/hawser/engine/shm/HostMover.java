/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Loss;
import dev.hawser.engine.mapped.Mover;
import dev.hawser.engine.mapped.PeerMapping;
import dev.hawser.engine.mapped.PeerProcess;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.mapped.PeerRegions;
import dev.hawser.engine.mapped.ProcFiles;
import dev.hawser.engine.mapped.RequestJudge;
import dev.hawser.engine.mapped.Verdict;
import dev.hawser.engine.net.PendingFault;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.ffi.Errno;
import org.jspecify.annotations.Nullable;

/**
 * Moves the bytes of requests, slice by slice, on the caller's thread. Owner thread only; allocates nothing in
 * steady state.
 */
final class HostMover implements Mover {
  /** The most bytes that are moved between two looks at the target's word: some 200 µs. Smaller ones miss the copy that
   * streams past the cache. */
  static final long SLICE_BYTES = 4 << 20;

  /** The most segments of a slice. */
  static final int SLICE_SEGMENTS = 1024;

  private static final int POPULATED_BLOCKS = 4;

  /** Requests up to this size are moved on the caller's thread at once. */
  static final long AT_ONCE_BYTES = 64 << 10;

  private final PeerRegions regions;
  private final RequestJudge judge;
  private final PeerProcess peer;
  private final ProcFiles proc;
  private boolean closed;
  private final DeviceOps host;
  private final KernelCopy kernel;
  private final SegmentCursor cursor = new SegmentCursor();

  // The region met last.
  private @Nullable RemoteRegion lastRemote;
  private @Nullable PeerRegion lastPeer;

  // The plan met last.
  private @Nullable TransferPlan lastPlan;
  private boolean lastMayMiss;

  private @Nullable PathFault fault;
  private boolean missing; // something that the last call touched
  private @Nullable Loss lost;

  HostMover(PeerRegions regions, DeviceOps host, PeerProcess peer, ProcFiles proc) {
    this.regions = regions;
    this.judge = new RequestJudge(regions, region -> region.device().isHost());
    this.host = host;
    this.peer = peer;
    this.proc = proc;
    this.kernel = new KernelCopy(peer.pid());
  }

  @Override
  public Verdict judge(Op op, TransferPlan plan, long position, long length) {
    lastRemote = null;
    return judge.judge(op, plan, position, length);
  }

  @Override
  public boolean movesAtOnce(TransferPlan plan, long bytes) {
    return bytes <= AT_ONCE_BYTES;
  }

  @Override
  public long sliceBytes() {
    return SLICE_BYTES;
  }

  @Override
  public long move(Op op, TransferPlan plan, long position, long length) {
    boolean write = op == Op.WRITE;
    missing = false;
    long moved;
    try {
      moved = slice(write, plan, position, length);
      if (mayMiss(plan)) {
        PendingFault.raise();
      }
    } catch (InternalError e) {
      // How the JVM reports SIGBUS.
      fault = gone();
      missing = true;
      moved = -1;
      kernel.forget();
    }
    if (missing) {
      lost = MissingMemory.find(write, plan, position, Math.min(length, SLICE_BYTES), regions::get, peer.pid());
    }
    return moved;
  }

  /** Whether a copy of ours can meet memory that is gone: what registries allocate is sealed, and asked nothing. */
  private boolean mayMiss(TransferPlan plan) {
    if (plan != lastPlan) {
      lastPlan = plan;
      lastMayMiss = isLosable(plan);
    }
    return lastMayMiss;
  }

  private boolean isLosable(TransferPlan plan) {
    boolean losable = false;
    for (int i = 0; i < plan.localRegions(); i++) {
      losable |= !plan.localRegion(i).isAllocated();
    }
    boolean mapped = false;
    for (int i = 0; i < plan.remoteRegions(); i++) {
      PeerMapping mapping = regions.get(plan.remoteRegion(i).id()).mapping();
      mapped |= mapping != null;
      losable |= mapping != null && !mapping.isSealed();
    }
    return mapped && losable;
  }

  @SuppressWarnings("ReferenceEquality") // the very object that was met last; comparing its parts would cost more
  private long slice(boolean write, TransferPlan plan, long position, long length) {
    cursor.start(plan, position, Math.min(length, SLICE_BYTES));
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

  /**
   * Copies one piece between memory of this process and a region that is lent; {@link #copied} is to follow.
   *
   * @param here an address of this process
   * @return false if that failed, see {@link #fault}
   */
  boolean copy(PeerRegion region, long there, long here, long bytes, boolean write) {
    PeerMapping mapping = region.mapping();
    if (mapping == null) {
      if (kernel.isFull() && !runKernel(write)) {
        return false;
      }
      kernel.add(here, there, bytes);
      return true;
    }
    try {
      long mapped = there + region.delta();
      host.copy(write ? here : mapped, write ? mapped : here, bytes);
      PendingFault.raise();
      return true;
    } catch (InternalError e) {
      fault = gone();
      missing = true;
      kernel.forget();
      return false;
    }
  }

  /** Whether what failed last did so since memory was not there. */
  boolean wasMissing() {
    boolean was = missing;
    missing = false;
    return was;
  }

  /** Ends what {@link #copy} began; false if that failed. */
  boolean copied(boolean write) {
    return kernel.isEmpty() || runKernel(write);
  }

  /** What the JVM's report of a SIGBUS means. */
  private PathFault gone() {
    return new PathFault(
        PathFault.Kind.WORK_ERROR,
        "registered memory is gone: a file behind it was truncated, here or in " + peer);
  }

  private boolean runKernel(boolean write) {
    int errno = kernel.run(write);
    if (errno == 0) {
      return true;
    }
    PathFault.Kind kind =
        switch (errno) {
          case Errno.EPERM -> PathFault.Kind.UNREACHABLE;
          case Errno.ESRCH -> PathFault.Kind.RESET;
          default -> PathFault.Kind.WORK_ERROR;
        };
    fault = new PathFault(kind, KernelCopy.explain(errno, peer.pid(), proc));
    missing = errno == Errno.EFAULT;
    return false;
  }

  @Override
  public @Nullable Loss lost() {
    Loss found = lost;
    lost = null;
    return found;
  }

  @Override
  public @Nullable PathFault fault() {
    PathFault found = fault;
    fault = null;
    return found;
  }

  @Override
  public boolean end() {
    if (!closed) {
      closed = true;
      kernel.close();
    }
    return true;
  }
}
