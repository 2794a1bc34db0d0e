/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
import dev.hawser.memory.ffi.FileDescriptors;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * How the two ends of a path wake each other. A side that goes to sleep parks: it says so in the shared segment, then looks
 * once more for something to do. Whoever publishes something looks at the peer's parked word afterwards, and if it is set,
 * clears it and writes a byte into the peer's pipe. Both have a full fence between their store and their load, so at least
 * one of them sees the other (Dekker). A side that polls costs its peer no system call.
 *
 * <p>Only {@link #wakeSelf} may be called by any thread.
 */
public final class Bell {
  /** To be woken by records, commands and changes of state. */
  public static final int PARKED = 1;

  /** To be woken also when the peer has read: something did not fit, or waits for being read. */
  public static final int PARKED_FOR_ROOM = 3;

  private static final int DRAIN_BYTES = 512;
  // One byte to write, and room for what is drained and thrown away.
  private static final MemorySegment SCRATCH = Arena.global().allocate(DRAIN_BYTES);

  private final PathSegment segment;
  private final Side side;
  private final MappedCalls.Pipe own;
  private final int peerFd;
  private boolean closed; // guarded by this
  private boolean due;

  /**
   * A bell.
   *
   * @param own the pipe on which this side is woken; owned from now on
   * @param peerFd the writing end of the peer's; owned from now on
   */
  public Bell(PathSegment segment, Side side, MappedCalls.Pipe own, int peerFd) {
    this.segment = segment;
    this.side = side;
    this.own = own;
    this.peerFd = peerFd;
  }

  /** The descriptor that becomes readable when this side shall wake. */
  public int readable() {
    return own.readEnd();
  }

  /** Says that this side is about to sleep; the caller looks for work after this and {@link #unpark}s if there is some. */
  public void park(int how) {
    segment.park(side, how);
    VarHandle.fullFence();
  }

  /** Says that this side is awake, and takes the bytes that woke it; false if nobody rang. */
  public boolean unpark() {
    if (segment.unpark(side) != 0) {
      return false;
    }
    // Somebody cleared it first: a byte has come, or will, and then costs one needless wake later.
    while (MappedCalls.read(own.readEnd(), SCRATCH.address(), DRAIN_BYTES) == DRAIN_BYTES) {
      // full pipes take more than one read
    }
    return true;
  }

  /** Something was published for the peer. */
  public void due() {
    due = true;
  }

  /** Wakes the peer if something was published since the last call and it sleeps. */
  public void ringIfDue() {
    if (due) {
      due = false;
      ring(PARKED);
    }
  }

  /** Wakes the peer if it sleeps until this side has read. */
  public void ringForRoom() {
    ring(PARKED_FOR_ROOM);
  }

  private void ring(int atLeast) {
    VarHandle.fullFence();
    if (segment.parked(side.peer()) >= atLeast && segment.unpark(side.peer()) != 0) {
      // EAGAIN: the pipe is full, so the peer wakes anyway. EPIPE: it is gone, which its pidfd tells.
      MappedCalls.write(peerFd, SCRATCH.address(), 1);
    }
  }

  /** Wakes this side's owner if it sleeps. Any thread. */
  public synchronized void wakeSelf() {
    if (closed) {
      return;
    }
    VarHandle.fullFence();
    if (segment.parked(side) != 0 && segment.unpark(side) != 0) {
      MappedCalls.write(own.writeEnd(), SCRATCH.address(), 1);
    }
  }

  /** Closes the pipes. The segment is unmapped after this, never before. */
  public synchronized void close() {
    closed = true;
    FileDescriptors.close(own.readEnd());
    FileDescriptors.close(own.writeEnd());
    FileDescriptors.close(peerFd);
  }
}
