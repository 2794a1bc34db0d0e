/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.LentBlocks;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.TransferException;
import dev.hawser.engine.TransferEnd;
import dev.hawser.memory.BlockList;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The functions about transfers. */
@SuppressWarnings("unused") // all by method handles of the table
final class TransferFunctions {
  private static final int COUNTER = 1;
  private static final int FLUSH = 2;

  private final Handles handles;

  TransferFunctions(Handles handles) {
    this.handles = handles;
  }

  private PreparedTransfer transfer(long transfer) {
    return handles.get(transfer, PreparedTransfer.class, "transfer");
  }

  long prepare(long agent, long request, long options, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    PreparedTransfer transfer = prepared(held, request);
    carry(transfer, options);
    Foreign.putHandle(out, handles.add(transfer, held));
    return 0;
  }

  long start(long agent, long request, long options, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    PreparedTransfer transfer = prepared(held, request);
    carry(transfer, options);
    // First, so that nothing under way is without a handle.
    long handle = handles.add(transfer, held);
    boolean posted = false;
    try {
      transfer.post();
      posted = true;
    } finally {
      if (!posted) {
        handles.remove(handle);
      }
    }
    Foreign.putHandle(out, handle);
    return 0;
  }

  private PreparedTransfer prepared(HeldAgent held, long at) {
    Structs.at(at, Structs.Request.BYTES, "hawser_request");
    Peer peer = handles.get(Foreign.getLong(at + Structs.Request.PEER), Peer.class, "hawser_request.peer");
    long operation = Integer.toUnsignedLong(Foreign.getInt(at + Structs.Request.OPERATION));
    if (operation == Codes.NOTIFY) {
      return held.agent().prepareNotification(peer);
    }
    BlockList local =
        handles.get(Foreign.getLong(at + Structs.Request.LOCAL), BlockList.class, "hawser_request.local");
    BlockList remote =
        handles.get(Foreign.getLong(at + Structs.Request.REMOTE), BlockList.class, "hawser_request.remote");
    int[] localIndices = Foreign.indices(Foreign.getLong(at + Structs.Request.LOCAL_INDICES),
        Foreign.getLong(at + Structs.Request.LOCAL_COUNT),
        Foreign.getInt(at + Structs.Request.LOCAL_INDEX_BYTES), "local_indices");
    int[] remoteIndices = Foreign.indices(Foreign.getLong(at + Structs.Request.REMOTE_INDICES),
        Foreign.getLong(at + Structs.Request.REMOTE_COUNT),
        Foreign.getInt(at + Structs.Request.REMOTE_INDEX_BYTES), "remote_indices");
    return held.agent().prepare(Codes.operation(operation), local, localIndices, peer, remote, remoteIndices);
  }

  private void carry(PreparedTransfer transfer, long options) {
    if (options == 0) {
      return;
    }
    long at = Structs.at(options, Structs.Options.BYTES, "hawser_options");
    int flags = Foreign.getInt(at + Structs.Options.FLAGS);
    if ((flags & ~(COUNTER | FLUSH)) != 0) {
      throw new IllegalArgumentException("hawser_options.flags: 0x" + Integer.toHexString(flags)
          + " has other bits than HAWSER_COUNTER and HAWSER_FLUSH");
    }
    long payload = Foreign.getLong(at + Structs.Options.NOTIFICATION);
    boolean counts = (flags & COUNTER) != 0;
    long payloadBytes = Foreign.getLong(at + Structs.Options.NOTIFICATION_BYTES);
    if (payload == 0 && payloadBytes != 0) {
      throw new IllegalArgumentException(
          "hawser_options.notification is NULL, but notification_bytes is " + payloadBytes
              + "; give the bytes, or NULL and 0 for no notification");
    }
    if (payload != 0 && counts) {
      throw new IllegalArgumentException("hawser_options: a transfer notifies or counts, not both; drop one");
    }
    // What it carried before goes first: it may not have both in between either.
    transfer.counter(null);
    transfer.notification(payload == 0 ? null
        : Foreign.bytes(payload, payloadBytes, "notification"));
    if (counts) {
      transfer.counter(Foreign.getLong(at + Structs.Options.COUNTER));
    }
    transfer.flush((flags & FLUSH) != 0);
    transfer.requestId(Foreign.textOrNull(Foreign.getLong(at + Structs.Options.REQUEST_ID), "request_id"));
    long timeout = Foreign.notNegative(Foreign.getLong(at + Structs.Options.TIMEOUT), "hawser_options.timeout");
    if (timeout != 0) {
      transfer.timeout(Duration.ofNanos(timeout));
    }
    long lent = Foreign.getLong(at + Structs.Options.LENT);
    transfer.withGrant(lent == 0 ? null : handles.get(lent, LentBlocks.class, "hawser_options.lent"));
  }

  long post(long transfer, long options) {
    PreparedTransfer posted = transfer(transfer);
    carry(posted, options);
    posted.post();
    return 0;
  }

  private static int state(PreparedTransfer transfer) {
    TransferEnd end = transfer.end();
    if (end != null) {
      return Codes.state(end);
    }
    return transfer.id() == 0 ? Codes.IDLE : Codes.ACTIVE;
  }

  long poll(long transfer) {
    PreparedTransfer polled = transfer(transfer);
    if (polled.end() == null) {
      polled.poll();
    }
    return state(polled);
  }

  long pollMany(long agent, long transfers, long count, long states) {
    handles.get(agent, HeldAgent.class, "agent").agent().poll();
    if (Foreign.notNegative(count, "count") != 0) {
      Foreign.notNull(transfers, "transfers");
      Foreign.notNull(states, "states");
    }
    long over = 0;
    for (long i = 0; i < count; i++) {
      Object value = handles.find(Foreign.getLong(transfers + i * Long.BYTES));
      int state = value instanceof PreparedTransfer transfer ? state(transfer) : Codes.INVALID;
      Foreign.putByte(states + i, (byte) state);
      if (state != Codes.ACTIVE) {
        over++;
      }
    }
    return over;
  }

  long await(long transfer, long timeout) {
    PreparedTransfer awaited = transfer(transfer);
    if (timeout < 0) {
      throw new IllegalArgumentException(
          "timeout: " + timeout + " is negative; give nanoseconds, 0 to look only, INT64_MAX to wait for good");
    }
    if (state(awaited) == Codes.IDLE) {
      throw new IllegalStateException("transfer: " + awaited + " was never posted; post it before waiting for it");
    }
    try {
      awaited.await(Duration.ofNanos(timeout));
    } catch (TransferException e) {
      // How it ended is the answer, not an error of the wait.
      return state(awaited);
    }
    return state(awaited);
  }

  long describe(long transfer, long out) {
    Structs.at(out, Structs.Transfer.BYTES, "hawser_transfer");
    PreparedTransfer described = transfer(transfer);
    TransferEnd end = described.end();
    int cause = 0;
    int maybe = 0;
    long position = -1;
    if (end instanceof TransferEnd.Failed failed) {
      cause = Codes.cause(failed.cause());
      maybe = failed.notified() == TransferEnd.Notified.UNKNOWN ? 1 : 0;
      position = failed.position();
    }
    Foreign.putInt(out + Structs.Transfer.STATE, state(described));
    Foreign.putInt(out + Structs.Transfer.CAUSE, cause);
    Foreign.putInt(out + Structs.Transfer.REMOTE, Codes.remote(described.remoteSettled()));
    Foreign.putInt(out + Structs.Transfer.MAYBE_NOTIFIED, maybe);
    Foreign.putLong(out + Structs.Transfer.POSITION, position);
    Foreign.putLong(out + Structs.Transfer.TOTAL_BYTES, described.totalBytes());
    Foreign.putLong(out + Structs.Transfer.ACKNOWLEDGED_BYTES, described.acknowledgedBytes());
    Foreign.putLong(out + Structs.Transfer.ELAPSED, described.elapsed().toNanos());
    Foreign.putLong(out + Structs.Transfer.NUMBER, described.id());
    Foreign.putLong(out + Structs.Transfer.PEER_EPOCH, described.peerEpoch());
    return 0;
  }

  long message(long transfer, long text, long capacity) {
    PreparedTransfer told = transfer(transfer);
    @Nullable
    TransferEnd end = told.end();
    String message = "";
    if (end != null && !(end instanceof TransferEnd.Done)) {
      try {
        told.await(Duration.ZERO);
      } catch (TransferException e) {
        message = String.valueOf(e.getMessage());
      }
    }
    return Foreign.textOut(message, text, capacity);
  }

  long cancel(long transfer) {
    transfer(transfer).cancel();
    return 0;
  }

  long watch(long transfer) {
    PreparedTransfer watched = transfer(transfer);
    Ended ended = handles.ownerOf(transfer, HeldAgent.class).ended();
    watched.whenEnded(() -> ended.add(transfer));
    return 0;
  }
}
