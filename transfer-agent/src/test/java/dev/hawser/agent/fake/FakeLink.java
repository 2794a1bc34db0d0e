/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.fake;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.telemetry.FlowReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

final class FakeLink implements Link {
  private final FakeEngine engine;
  private final PeerDescription peer;
  private final AtomicLong ids = new AtomicLong();
  private final Set<FakeTransfer> active = ConcurrentHashMap.newKeySet();
  private final AtomicLong written = new AtomicLong();
  private final AtomicLong read = new AtomicLong();
  private volatile boolean closed;
  private volatile boolean restarted;

  FakeLink(FakeEngine engine, PeerDescription peer) {
    this.engine = engine;
    this.peer = peer;
  }

  /** The engine at the other end; null if it is not there (any more), or another one. */
  @Nullable
  FakeEngine target() {
    for (String address : peer.addresses()) {
      FakeEngine found = engine.network().at(address);
      if (found != null && found.name().equals(peer.name()) && found.epoch() == peer.epoch()) {
        return found;
      }
    }
    return null;
  }

  FakeEngine engine() {
    return engine;
  }

  long nextId() {
    return ids.incrementAndGet();
  }

  void started(FakeTransfer transfer) {
    active.add(transfer);
  }

  void ended(FakeTransfer transfer) {
    active.remove(transfer);
  }

  void moved(DataRequest.Op op, long bytes) {
    (op == DataRequest.Op.READ ? read : written).addAndGet(bytes);
  }

  void mustBeOpen() {
    if (restarted) {
      throw new LinkException("'" + peer.name() + "' has restarted");
    }
    if (closed) {
      throw new LinkException("the link to '" + peer.name() + "' is closed");
    }
  }

  void replaced() {
    restarted = true;
    closed = true;
    active.forEach(transfer -> transfer.fail(TransferEnd.Cause.PEER_RESTARTED, "'" + peer.name() + "' has restarted"));
  }

  @Override
  public String peer() {
    return peer.name();
  }

  @Override
  public long peerEpoch() {
    return peer.epoch();
  }

  @Override
  public State state() {
    return closed ? State.CLOSED : target() == null ? State.REFUSED : State.UP;
  }

  @Override
  public void awaitUp(Duration timeout) {
    if (state() != State.UP) {
      throw new LinkException("'" + peer.name() + "' cannot be reached: fake:0: nobody is there");
    }
  }

  @Override
  public List<PathReport> paths() {
    return List.of(new PathReport("fake", "fake0", "fake0", 1, 1, state() == State.UP, written.get(), read.get(),
        LatencyCounts.EMPTY, state() == State.UP ? "" : "nobody is there"));
  }

  @Override
  public List<FlowReport> flows() {
    return List.of();
  }

  @Override
  public Map<String, String> unused() {
    return Map.of("verbs", "absent");
  }

  @Override
  public void foresee(RemoteRegion region) {
    // memory that both sides have mapped already
  }

  @Override
  public Transfer prepare(DataRequest.Op op, TransferPlan plan) {
    return new FakeTransfer(this, op, plan);
  }

  @Override
  public void close() {
    closed = true;
    active.forEach(transfer -> transfer.fail(TransferEnd.Cause.CLOSED, "the link to '" + peer.name() + "' is closed"));
  }
}
