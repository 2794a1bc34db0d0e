/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.wire.WireException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The target's end of one path generation. */
final class InboundGeneration implements ConnectionEvents {

  /** The life of a generation at the target. */
  enum State {
    /** Receives. */
    OPEN,
    /** Broke by itself; not fenced, since nobody asked. */
    BROKEN,
    /** Being fenced: nothing new is accepted, what was received goes to memory. */
    FENCING,
    /** Fenced: nothing of it lands any more. */
    FENCED
  }

  final PathKey key;
  final int session;
  final Connection connection;
  State state = State.OPEN;
  long lastProgress;

  /** Where the fence was asked for: the answer goes out on each, since requests may overtake each other. */
  final List<InboundGeneration> askedOn = new ArrayList<>(1);

  private final InboundLink link;

  InboundGeneration(InboundLink link, PathKey key, int session, Connection connection) {
    this.link = link;
    this.key = key;
    this.session = session;
    this.connection = connection;
  }

  @Override
  public void completed(Connection from, long workId, WorkStatus status, long detail) {
    // the target wants no completions: what it says is repeated or asked for again
  }

  @Override
  public void flushArrived(Connection from, long transfer, boolean abort) {
    link.flushArrived(this, transfer, abort);
  }

  @Override
  public void refused(Connection from, long transfer) {
    link.refused(transfer);
  }

  @Override
  public void received(Connection from, ByteBuffer message) {
    try {
      link.received(this, message);
    } catch (WireException e) {
      failed(from, new PathFault(PathFault.Kind.PROTOCOL, String.valueOf(e.getMessage())));
    }
  }

  @Override
  public void failed(Connection from, PathFault fault) {
    link.broke(this, fault);
  }

  @Override
  public String toString() {
    return "path " + key + " of session " + session;
  }
}
