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
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageWriter;
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

  private static final long CLOSE = 1;

  final PathKey key;
  final int session;
  final Connection connection;
  final ConnectionEnd end;

  /** By which rail of ours its bytes come. */
  final String rail;

  State state = State.OPEN;
  long lastProgress;
  /** It came after its session was over and told as such: what it still brings counts for nothing. */
  boolean stray;
  private boolean closeSaid;
  private boolean closeHeard;

  /** Where the fence was asked for: the answer goes out on each, since requests may overtake each other. */
  final List<InboundGeneration> askedOn = new ArrayList<>(1);

  private final InboundLink link;

  InboundGeneration(InboundLink link, PathKey key, int session, String rail, Connection connection) {
    this.link = link;
    this.key = key;
    this.session = session;
    this.rail = rail;
    this.connection = connection;
    this.end = new ConnectionEnd(connection, cause -> link.endBroke(this, cause));
  }

  /** Says CLOSE, once. */
  void postClose(MessageWriter writer, CloseKind kind, String reason) {
    if (!closeSaid && connection.postMessage(CLOSE, writer.close(session, kind, reason))) {
      closeSaid = true;
      connection.flushPosted();
    }
  }

  /** True once the initiator has received CLOSE on this path. */
  boolean isCloseHeard() {
    return closeHeard;
  }

  @Override
  public void completed(Connection from, long workId, WorkStatus status, long detail) {
    // of what else the target says nothing is awaited: it is repeated or asked for again
    closeHeard |= workId == CLOSE && status == WorkStatus.SUCCESS;
  }

  @Override
  public void flushArrived(Connection from, long transfer, boolean abort) {
    if (!stray) {
      link.flushArrived(this, transfer, abort);
    }
  }

  @Override
  public void refused(Connection from, long transfer) {
    if (!stray) {
      link.refused(transfer);
    }
  }

  @Override
  public void received(Connection from, ByteBuffer message) {
    if (stray) {
      return;
    }
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
