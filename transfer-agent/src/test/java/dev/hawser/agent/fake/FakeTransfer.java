/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.fake;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Priority;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

final class FakeTransfer implements Transfer {
  private static final TransferEnd DONE = new TransferEnd.Done();
  private static final TransferEnd CANCELLED = new TransferEnd.Cancelled();
  @SuppressWarnings("restricted") // both agents are in this process
  private static final MemorySegment EVERYTHING = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private final FakeLink link;
  private final DataRequest.Op op;
  private final TransferPlan plan;
  private final SegmentCursor cursor = new SegmentCursor();

  private byte @Nullable [] payload;
  private @Nullable Long counter;
  private @Nullable String requestId;
  private Duration timeout = Duration.ofSeconds(30);
  private @Nullable GrantCheck grant;
  private @Nullable Consumer<Transfer> callback;

  private boolean active;
  private volatile @Nullable TransferEnd end;
  private volatile RemoteState remote = RemoteState.NOT_APPLICABLE;
  private volatile long id;
  private volatile long acknowledged;
  private long deadline;

  FakeTransfer(FakeLink link, DataRequest.Op op, TransferPlan plan) {
    this.link = link;
    this.op = op;
    this.plan = plan;
  }

  @Override
  public Transfer notification(byte @Nullable [] newPayload) {
    if (newPayload != null && newPayload.length > MAX_NOTIFICATION_BYTES) {
      throw new IllegalArgumentException("a notification has at most 4096 bytes, not " + newPayload.length);
    }
    payload = newPayload == null ? null : newPayload.clone();
    return this;
  }

  @Override
  public Transfer count(@Nullable Long newCounter) {
    counter = newCounter;
    return this;
  }

  @Override
  public Transfer flush(boolean flush) {
    return this;
  }

  @Override
  public Transfer priority(Priority priority) {
    return this;
  }

  @Override
  public Transfer requestId(@Nullable String newRequestId) {
    requestId = newRequestId;
    return this;
  }

  @Override
  public Transfer timeout(Duration newTimeout) {
    timeout = newTimeout;
    return this;
  }

  @Override
  public Transfer grant(@Nullable GrantCheck newGrant) {
    grant = newGrant;
    return this;
  }

  @Override
  public Transfer startsWhen(@Nullable BooleanSupplier condition) {
    return this; // nothing of it is tried with this fake
  }

  @Override
  public Transfer onEnd(@Nullable Consumer<Transfer> newCallback) {
    callback = newCallback;
    return this;
  }

  @Override
  public void post() {
    link.mustBeOpen();
    synchronized (this) {
      if (active) {
        throw new IllegalStateException("the transfer is under way");
      }
      active = true;
      end = null;
    }
    id = link.nextId();
    acknowledged = 0;
    remote = RemoteState.PENDING;
    deadline = System.nanoTime() + timeout.toNanos();
    link.started(this);
    if (!link.engine().network().hold(this)) {
      execute();
    }
  }

  @Override
  public boolean postAndAwait(Duration longest) {
    post();
    return await(longest);
  }

  void execute() {
    FakeEngine target = link.target();
    if (target == null) {
      fail(TransferEnd.Cause.PEER_LOST, "nobody is there");
      return;
    }
    cursor.start(plan, 0, plan.totalBytes());
    while (cursor.next()) {
      Region local = cursor.localRegion();
      Region there = target.registry().byId(cursor.remoteRegion().id());
      if (there == null || there.isClosing()) {
        fail(TransferEnd.Cause.REMOTE_REGION_CLOSED, cursor.remoteRegion() + " is closed");
        return;
      }
      if (!local.contains(cursor.localAddress(), cursor.length())) {
        throw new IllegalStateException("the plan was resolved wrongly: " + local);
      }
      if (op == DataRequest.Op.WRITE) {
        MemorySegment.copy(EVERYTHING, cursor.localAddress(), EVERYTHING, cursor.remoteAddress(), cursor.length());
      } else {
        MemorySegment.copy(EVERYTHING, cursor.remoteAddress(), EVERYTHING, cursor.localAddress(), cursor.length());
      }
    }
    acknowledged = plan.totalBytes();
    link.moved(op, acknowledged);
    GrantCheck check = grant;
    if (check != null && EVERYTHING.get(ValueLayout.JAVA_LONG, check.address()) != check.generation()) {
      fail(TransferEnd.Cause.STALE, "the grant has moved on");
      return;
    }
    deliver(target);
    finish(DONE, payload == null && counter == null ? RemoteState.NOT_APPLICABLE : RemoteState.DELIVERED);
  }

  private void deliver(FakeEngine target) {
    FakeEngine source = link.engine();
    byte[] sent = payload;
    Long counted = counter;
    if (sent != null) {
      target.inbound().notification(new Arrived(source.name(), source.epoch(), id, requestId, sent.clone()));
    } else if (counted != null) {
      target.inbound().counted(source.name(), source.epoch(), counted, requestId);
    }
  }

  void fail(TransferEnd.Cause cause, String message) {
    finish(new TransferEnd.Failed(cause, message, link.peer(), null, null, -1, TransferEnd.Notified.NO),
        RemoteState.ABORTED);
  }

  private void finish(TransferEnd newEnd, RemoteState newRemote) {
    synchronized (this) {
      if (!active) {
        return;
      }
      active = false;
      remote = newRemote;
      end = newEnd;
    }
    link.ended(this);
    Consumer<Transfer> listener = callback;
    if (listener != null) {
      listener.accept(this);
    }
  }

  @Override
  public boolean poll() {
    if (end == null && id != 0 && System.nanoTime() - deadline > 0 && link.engine().network().unhold(this)) {
      fail(TransferEnd.Cause.DEADLINE_EXCEEDED, "its time was over");
    }
    return end != null;
  }

  @Override
  public boolean await(Duration longest) {
    long until = System.nanoTime() + longest.toNanos();
    while (!poll() && System.nanoTime() < until) {
      LockSupport.parkNanos(20_000);
    }
    return poll();
  }

  @Override
  public void cancel() {
    if (link.engine().network().unhold(this)) {
      finish(CANCELLED, RemoteState.ABORTED);
    }
  }

  @Override
  public @Nullable TransferEnd end() {
    return end;
  }

  @Override
  public RemoteState remoteSettled() {
    return remote;
  }

  @Override
  public long id() {
    return id;
  }

  @Override
  public long totalBytes() {
    return plan.totalBytes();
  }

  @Override
  public Map<Integer, Long> bytesByPath() {
    return Map.of();
  }

  @Override
  public long acknowledgedBytes() {
    return acknowledged;
  }

  /** A notification; its credit is given back at most once. */
  @SuppressWarnings("ArrayRecordComponent")
  private record Arrived(String peer, long peerEpoch, long transfer, @Nullable String requestId, byte[] payload)
      implements
        InboundNotification {
    @Override
    public void consumed() {
      // The fake has no credits.
    }
  }
}
