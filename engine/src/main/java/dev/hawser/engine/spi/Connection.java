/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * One generation of one path: a queue pair, a TCP connection, a pair of shared-memory rings. Work is
 * posted and completes later, in the order of posting for what one side sees; the data of a request
 * may reach the target's memory later than its acknowledgement, but never later than the arrival of
 * a {@linkplain #postFlush flush} posted behind it on the same connection.
 *
 * <p>Both ends of a path have one; requests are posted by the initiator's end only, messages by both.
 *
 * <p>Every method except {@link #key()} and {@link #describe()} is called by one thread at a time,
 * the present owner of the link; none of them blocks, sleeps or allocates in steady state.
 */
public interface Connection {

  PathKey key();

  /** Where it runs, for messages: rail, both addresses or queue pair numbers, state. Any thread. */
  String describe();

  /** Why a request could not use memory here, the last one that ended with {@link WorkStatus#LOCAL_ACCESS}; empty if all is said. */
  default String localObstacle() {
    return "";
  }

  /**
   * How many more {@linkplain SegmentCursor segments} may be posted now; 0 when the send queue is
   * full. A flush or a message is always accepted while this is positive, and room for {@value
   * #RESERVED_MESSAGES} messages is kept back for the time when it is 0.
   */
  int segmentBudget();

  /** The most segments that one request may have. */
  int maxSegments();

  /** Messages that are accepted even when the send queue is full of data. */
  int RESERVED_MESSAGES = 64;

  /**
   * Initiator: requests that use this region will come; what takes time at its first use can be done now, in the
   * background. Nothing fails here: a region that cannot be used is refused when it is.
   */
  default void foresee(RemoteRegion region) {}

  /**
   * Posts one chunk. The segments are read from the plan before this returns; the local memory is
   * read (WRITE) or written (READ) until the completion or until {@link #drained()}.
   *
   * @param workId comes back in {@link ConnectionEvents#completed}
   * @return false if it does not fit now; nothing was posted
   */
  boolean postData(long workId, DataRequest request);

  /**
   * Posts a zero-byte write with immediate data behind all data posted before on this connection:
   * COMMIT, or the flush of an ABORT. The target sees {@link ConnectionEvents#flushArrived}.
   *
   * @return false if it does not fit now
   */
  boolean postFlush(long workId, long transfer, boolean abort);

  /**
   * Initiator: whether a message posted now arrives behind all data posted before. If not, none is chained to data that have
   * not been acknowledged; a flush waits by itself.
   */
  default boolean keepsOrder() {
    return true;
  }

  /**
   * Posts a message of at most {@link TransportTraits#maxMessageBytes()} bytes (the buffer's
   * remaining ones; copied before this returns). Its successful completion means that the target
   * received it and will process it even if this connection now fails.
   *
   * @param workId 0 if no completion is wanted
   * @return false if it does not fit now
   */
  boolean postMessage(long workId, ByteBuffer message);

  /**
   * Initiator: takes back what was posted of a transfer, where that can be done: of a WRITE what has not begun to leave, of a
   * READ all that has not ended. It touches no memory here any more, and completes in its turn as
   * {@link WorkStatus#WITHDRAWN}, whatever the target still sends of it. The target cannot tell that a WRITE is missing, so
   * nothing that counts on it may have been posted.
   */
  default void withdraw(long transfer) {}

  /** Rings the doorbell for what was posted since the last call, if the transport batches. */
  void flushPosted();

  /**
   * Moves bytes, reaps completions and delivers events. Bounded, so that other connections get
   * their turn.
   *
   * @return how much was done; 0 when there was nothing to do
   */
  int poll(ConnectionEvents events);

  /**
   * A counter that grows whenever anything arrives from the peer, data included: the engine tells
   * from it that the peer lives.
   */
  long progress();

  /**
   * A counter that grows whenever anything shows that this path works, though perhaps not that the peer's process does:
   * acknowledgements of its kernel or NIC included, where they can be seen. Asked a few times per heartbeat.
   */
  default long signsOfLife() {
    return progress();
  }

  /** What the network below it says now; null where it says nothing. Asked a few times per heartbeat, while it is up. */
  default @Nullable NetworkReport network() {
    return null;
  }

  /**
   * Initiator: looks whether the peer's process still lives, where this host's kernel tells: what is posted or would
   * complete from now on fails if it does not. One system call at most; asked some thousand times a second while there is
   * work.
   */
  default void lookAtPeer() {}

  /**
   * Initiator, when {@link #drained()}: empty, or that the peer's process has ended, as this host's kernel says. Its
   * incarnation never answers again then, on any path.
   */
  default String peerEnd() {
    return "";
  }

  /**
   * Begins the local fence: nothing new is posted or accepted, what is under way is flushed.
   * Idempotent. {@link #poll} goes on until {@link #drained()}.
   */
  void abort();

  /**
   * True once, after {@link #abort()} or a failure, nothing posted here touches local memory any
   * more, everything that had been received was reported, and received bytes are in memory. At the
   * target of a mapped rail, where the peer's own processor stores, it becomes true only when the
   * peer has let go or its process is dead.
   */
  boolean drained();

  /** Registers the descriptors whose readiness ends a wait. Called once, before the first poll. */
  void attach(WaitSet waitSet);

  /**
   * Asks to be woken through the wait set by the next event. Called right before the owner sleeps.
   *
   * @return false if there is something to do already: do not sleep
   */
  boolean arm();

  /** Releases everything. Called once, after {@link #drained()}, or when the process ends. */
  void close();
}
