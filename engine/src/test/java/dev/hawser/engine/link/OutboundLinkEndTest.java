/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.engine.testkit.SteppedOwner;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageWriter;
import dev.hawser.engine.wire.TargetState;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a transfer becomes when its target takes the notification, says so, and leaves. */
class OutboundLinkEndTest {
  private static final int SESSION = 4;

  private final Host host = new Host();
  private final OutboundLink link =
      new OutboundLink(host, LinkSettings.defaults(), new RailShares(), "here", 3,
          new PeerDescription("there", 7, List.of("192.0.2.1:1"), Map.of()),
          List.of(new Tier("sim", new TransportTraits(false, false, 8192, 64, 1 << 20, 1, 0), new byte[0],
              List.of(new Reachability.Route(new Rail("sim", "rail", 0, 0), "rail")), 1)),
          Map.of());

  private void work() {
    for (int i = 0; i < 4; i++) {
      host.now += 1000;
      link.doWork();
    }
  }

  private TransferState notified() {
    work();
    assertThat(link.state()).isEqualTo(Link.State.UP);
    TransferState transfer = post();
    assertThat(host.path.posted).as("the record is on its way").isNotEmpty();
    assertThat(transfer.end()).isNull();
    return transfer;
  }

  private TransferState post() {
    TransferState transfer = (TransferState) link.prepare(Op.WRITE,
        new TransferPlan(BlockPairs.of(BlockList.of(64, 0), BlockList.of(64, 0)), new Region[0], new RemoteRegion[0]));
    transfer.timeout(Duration.ofSeconds(5)).notification(new byte[] {1});
    transfer.post();
    work();
    return transfer;
  }

  /** Nothing is waited for: no lease, no attempt to reach it. */
  @Test
  void whatIsPostedToOneThatHasLeftFailsAtOnce() {
    work();
    host.path.brings(new MessageWriter().close(SESSION, CloseKind.AGENT, "it closes"));
    work();

    TransferState transfer = post();

    assertThat(transfer.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
      assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.PEER_LOST);
      assertThat(failed.notified()).isEqualTo(TransferEnd.Notified.NO);
      assertThat(failed.message()).contains("there closed its agent", "fetch its metadata again");
    });
    assertThat(transfer.remoteSettled()).isEqualTo(RemoteState.ABORTED);
  }

  /** A session that ends is followed by another. */
  @Test
  void whatIsPostedAfterTheEndOfASessionGoesInTheNext() {
    work();
    host.path.brings(new MessageWriter().close(SESSION, CloseKind.SESSION, "a grant was revoked"));
    work();

    assertThat(post().end()).isNull();
  }

  /** The last word may overtake the acknowledgements of the path, which then never come. */
  @Test
  void whatItSaysItHasDeliveredIsDone() {
    TransferState transfer = notified();
    host.path.brings(new MessageWriter().state(SESSION, transfer.id(), TargetState.DELIVERED));
    host.path.brings(new MessageWriter().close(SESSION, CloseKind.AGENT, "it closes"));
    work();

    assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
    assertThat(transfer.remoteSettled()).isEqualTo(RemoteState.DELIVERED);
  }

  @Test
  void whatItSaysNothingOfIsUnknown() {
    TransferState transfer = notified();
    host.path.brings(new MessageWriter().close(SESSION, CloseKind.AGENT, "it closes"));
    work();

    assertThat(transfer.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
      assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.PEER_LOST);
      assertThat(failed.notified()).isEqualTo(TransferEnd.Notified.UNKNOWN);
    });
  }

  private static final class Path extends IdleConnection {
    final List<Long> posted = new ArrayList<>();
    private final List<ByteBuffer> inbox = new ArrayList<>();

    Path(PathKey key) {
      super(key);
    }

    void brings(ByteBuffer message) {
      inbox.add(message);
    }

    @Override
    public boolean postMessage(long workId, ByteBuffer message) {
      if (workId != 0) {
        posted.add(workId);
      }
      return true;
    }

    @Override
    public int poll(ConnectionEvents events) {
      List<ByteBuffer> come = List.copyOf(inbox);
      inbox.clear();
      come.forEach(message -> events.received(this, message));
      return come.size();
    }
  }

  private static final class Host extends SteppedOwner {
    Path path = new Path(new PathKey(1, 1));

    @Override
    public PathOpener opener() {
      return (request, callback) -> {
        path = new Path(request.hello().key());
        callback.accept(new OpenResult.Opened(path, new Welcome(7, SESSION, 3000, 1024, 0)));
      };
    }
  }
}
