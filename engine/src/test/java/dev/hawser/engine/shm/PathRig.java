/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.InitiatorConnection;
import dev.hawser.engine.mapped.TargetConnection;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Both ends of a path in one process, driven by hand. Mapping one's own file works as mapping a peer's. */
final class PathRig implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(30);

  final MemoryRegistry here;
  final MemoryRegistry there;
  final Arena arena = Arena.ofShared();
  final ShmTransport initiating;
  final ShmTransport targeted;
  final InitiatorConnection initiator;
  final TargetConnection target;
  final Recorder atInitiator = new Recorder();
  final Recorder atTarget = new Recorder();
  private final DataRequest request = new DataRequest();
  private boolean closed;

  PathRig() {
    this(Map.of());
  }

  PathRig(Map<String, String> settings) {
    this(settings, registry().build(), registry().build());
  }

  PathRig(Map<String, String> settings, MemoryRegistry here, MemoryRegistry there) {
    this.here = here;
    this.there = there;
    initiating = transport(here, settings);
    targeted = transport(there, settings);
    PathSetup offer = initiating.initiate(
        new Reachability.Route(initiating.rails().getFirst(), "shm"),
        "peer",
        new PathKey(3, 7),
        targeted.description());
    PathSetup answer = targeted.accept("shm", "peer", new PathKey(3, 7), offer.message());
    int[] sockets = Sockets.pair();
    initiator = (InitiatorConnection) offer.connect(answer.message(), new TestStream(sockets[0]));
    target = (TargetConnection) answer.connect(offer.message(), new TestStream(sockets[1]));
  }

  static MemoryRegistry.Builder registry() {
    return MemoryRegistry.builder().closeDeadline(Duration.ofSeconds(5));
  }

  static ShmTransport transport(MemoryRegistry registry, Map<String, String> settings) {
    TransportContext context = new TransportContext(registry, "test", 1, List.of("127.0.0.1"), settings);
    return switch (new ShmTransportProvider().create(context)) {
      case TransportProvider.Outcome.Present(var transport) -> (ShmTransport) transport;
      case TransportProvider.Outcome.Absent(String reason) -> throw new AssertionError("shm is absent: " + reason);
    };
  }

  /** A region that the registry allocated, so that it is mapped. */
  static Region mapped(MemoryRegistry registry, long bytes, Access access) {
    return registry.allocate(bytes, access);
  }

  /** A region that can only be copied by the kernel. */
  Region foreign(MemoryRegistry registry, long bytes, Access access) {
    return registry.register(arena.allocate(bytes, 64), access);
  }

  static RemoteRegion published(Region region) {
    return new RemoteRegion(
        region.id(), region.address(), region.length(), region.device(), region.access(), Map.of("shm", new byte[2]));
  }

  static TransferPlan plan(Region local, long localOffset, Region remote, long remoteOffset, long bytes) {
    return plan(
        local,
        BlockList.of(local.address() + localOffset, bytes),
        published(remote),
        BlockList.of(remote.address() + remoteOffset, bytes));
  }

  static TransferPlan plan(Region local, BlockList localBlocks, RemoteRegion remote, BlockList remoteBlocks) {
    return new TransferPlan(
        BlockPairs.of(localBlocks, remoteBlocks), new Region[] {local}, new RemoteRegion[] {remote});
  }

  boolean post(long workId, Op op, TransferPlan plan) {
    return post(workId, op, plan, 0, plan.totalBytes());
  }

  boolean post(long workId, Op op, TransferPlan plan, long position, long length) {
    return initiator.postData(workId, request.set(op, 1, 0, plan, position, length));
  }

  /** Polls both ends once. */
  int turn() {
    initiator.flushPosted();
    target.flushPosted();
    return initiator.poll(atInitiator) + target.poll(atTarget);
  }

  /** Polls both ends until neither has anything to do. */
  void pump() {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    int idle = 0;
    while (idle < 3) {
      idle = turn() == 0 ? idle + 1 : 0;
      if (System.nanoTime() > deadline) {
        throw new AssertionError("the path does not come to rest");
      }
    }
  }

  /** Polls both ends until something holds. */
  void pumpUntil(BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      turn();
      if (System.nanoTime() > deadline) {
        throw new AssertionError(
            "waited in vain; completed " + atInitiator.completed + ", faults " + atInitiator.faults + atTarget.faults);
      }
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    initiator.abort();
    target.abort();
    pumpUntil(() -> initiator.drained() && target.drained());
    initiator.close();
    target.close();
    initiating.close();
    targeted.close();
    here.close();
    there.close();
    arena.close();
  }
}
