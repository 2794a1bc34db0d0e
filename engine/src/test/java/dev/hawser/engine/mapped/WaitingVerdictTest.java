/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a request waits for may come while it is judged: the answer is older than the version that is known then. */
class WaitingVerdictTest {
  private static final int TURNS = 10_000;

  /** A device's work: what it needs is there as soon as somebody has asked. */
  private static final class LateMover implements Mover {
    private int version;

    @Override
    public Verdict judge(DataRequest.Op op, TransferPlan plan, long position, long length) {
      if (version > 0) {
        return Verdict.READY;
      }
      version++; // another thread did this after the question was answered
      return Verdict.WAITING;
    }

    @Override
    public int version() {
      return version;
    }

    @Override
    public boolean movesAtOnce(TransferPlan plan, long bytes) {
      return false;
    }

    @Override
    public long sliceBytes() {
      return Long.MAX_VALUE;
    }

    @Override
    public long move(DataRequest.Op op, TransferPlan plan, long position, long length) {
      return length;
    }

    @Override
    public @Nullable PathFault fault() {
      return null;
    }

    @Override
    public boolean end() {
      return true;
    }
  }

  private static final class LatePaths implements PathMaker {
    private final Host host;
    private final MemoryRegistry registry;

    LatePaths(MemoryRegistry registry) throws IOException {
      this.host = Host.probe(false);
      this.registry = registry;
    }

    @Override
    public String name() {
      return "late";
    }

    @Override
    public Host host() {
      return host;
    }

    @Override
    public void permit(int pid) {}

    @Override
    public PathAnswer answer(int bellFd) {
      return new PathAnswer(host.self(), bellFd, 0, 0, false);
    }

    @Override
    public void verify(PathAnswer answer) {}

    @Override
    public Connection initiator(PathEnds ends) {
      return new InitiatorConnection(ends, host.proc(), new Populator(), _ -> new LateMover());
    }

    @Override
    public Connection target(PathEnds ends) {
      return new TargetConnection(ends, registry, _ -> null, TargetMover.NONE, _ -> {});
    }
  }

  private static final class Ends implements ConnectionEvents {
    final List<WorkStatus> ends = new ArrayList<>();

    @Override
    public void completed(Connection connection, long workId, WorkStatus status, long detail) {
      ends.add(status);
    }

    @Override
    public void flushArrived(Connection connection, long transfer, boolean abort) {}

    @Override
    public void received(Connection connection, ByteBuffer message) {}

    @Override
    public void failed(Connection connection, PathFault fault) {
      throw new AssertionError(fault.detail());
    }
  }

  @Test
  void aRequestIsJudgedAgainWhenWhatItLackedCameMeanwhile() throws IOException {
    try (MemoryRegistry registry = MemoryRegistry.builder().build();
        Region here = registry.allocate(4096, Access.LOCAL);
        Region there = registry.allocate(4096, Access.REMOTE_READ_WRITE)) {
      LatePaths paths = new LatePaths(registry);
      PathSetup offer = new InitiatorSetup(paths, new PathKey(1, 1));
      PathSetup answer = TargetSetup.accept(paths, new PathKey(1, 1), PathOffer.decode(offer.message()));
      int[] sockets = Sockets.pair();
      Connection initiator = offer.connect(answer.message(), new TestStream(sockets[0]));
      Connection target = answer.connect(offer.message(), new TestStream(sockets[1]));
      Ends ends = new Ends();
      RemoteRegion published =
          new RemoteRegion(there.id(), there.address(), there.length(), there.device(), there.access(), Map.of());
      TransferPlan plan =
          new TransferPlan(
              BlockPairs.of(BlockList.of(here.address(), 4096), BlockList.of(there.address(), 4096)),
              new Region[] {here},
              new RemoteRegion[] {published});
      assertThat(initiator.postData(1, new DataRequest().set(DataRequest.Op.WRITE, 1, 0, plan, 0, 4096))).isTrue();
      for (int i = 0; i < TURNS && ends.ends.isEmpty(); i++) {
        initiator.flushPosted();
        initiator.poll(ends);
        target.poll(ends);
      }
      assertThat(ends.ends).containsExactly(WorkStatus.SUCCESS);
      initiator.abort();
      target.abort();
      while (!initiator.drained() || !target.drained()) {
        initiator.poll(ends);
        target.poll(ends);
      }
      initiator.close();
      target.close();
    }
  }
}
