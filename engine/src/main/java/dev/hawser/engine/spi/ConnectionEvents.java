/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.nio.ByteBuffer;

/** What a connection reports from {@link Connection#poll}, on the thread that polls. */
public interface ConnectionEvents {

  /**
   * A posted request, flush or message ended. After {@link WorkStatus#FLUSHED} the outcome at the
   * target is not known.
   *
   * @param detail the transport's own code (verbs vendor error); with {@link WorkStatus#REMOTE_UNMAPPED} the target's
   *     region id, with {@link WorkStatus#LOCAL_UNMAPPED} the address; 0 if none
   */
  void completed(Connection connection, long workId, WorkStatus status, long detail);

  /**
   * Target: a flush arrived; every byte posted before it on this connection is in memory.
   *
   * @param transfer the transfer; transports that carry 31 bits deliver those, see {@link
   *     TransportTraits#flushBits()}
   */
  void flushArrived(Connection connection, long transfer, boolean abort);

  /**
   * Target, software transports: a chunk of this transfer was refused, and nothing of it applied, or not all of it could be.
   * Reported before anything that was posted behind it, so that a record that was chained to the
   * data is not delivered without them. (In hardware the queue pair fails instead.)
   */
  default void refused(Connection connection, long transfer) {}

  /** A message arrived. The buffer is little-endian and valid during the call only. */
  void received(Connection connection, ByteBuffer message);

  /** The connection failed; reported once. The owner answers with {@link Connection#abort()}. */
  void failed(Connection connection, PathFault fault);
}
