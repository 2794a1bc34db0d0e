/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.engine.testkit.SteppedOwner;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Who asks for the session, where one of two rails is dead and takes long to say so. */
class OutboundLinkOpeningTest {
  /** As long as the resolution of a neighbour that does not answer; longer than the longest pause between attempts. */
  private static final long UNTIL_IT_FAILS = 2_000_000_000L;

  private static final long TICK = 5_000_000;

  private final Host host = new Host();
  private final OutboundLink link =
      new OutboundLink(host, LinkSettings.defaults(), new RailShares(), "here", 3,
          new PeerDescription("there", 7, List.of("192.0.2.1:1"), Map.of()),
          List.of(new Tier("sim", new TransportTraits(false, false, 8192, 64, 1 << 20, 1, 0), new byte[0],
              List.of(route("dead"), route("alive")), 2)),
          Map.of());

  private static Reachability.Route route(String rail) {
    return new Reachability.Route(new Rail("sim", rail, 0, 0), rail);
  }

  /** Two paths of the dead rail come first; if they took turns, each a new session, nobody else would ever ask. */
  @Test
  void aDeadRailIsNotAskedAgainBeforeTheOthersWere() {
    assertThat(UNTIL_IT_FAILS).isGreaterThan(LinkSettings.defaults().reopenMaxNanos());

    runUntilUpOr(4 * UNTIL_IT_FAILS);

    assertThat(link.state()).isEqualTo(Link.State.UP);
    assertThat(host.sessionsAskedFor).as("one by each path of the dead rail, one by the other rail").isEqualTo(3);
  }

  @Test
  void aRailThatStaysDeadIsTriedAgainAndWarnedOfOnce() {
    host.allDead = true;

    runUntilUpOr(40 * UNTIL_IT_FAILS);

    assertThat(host.attempts).as("attempts, one at a time").isBetween(35, 41);
    assertThat(host.warnings).hasSize(1).first().asString().contains("sim to there does not come up", "no answer");
    assertThat(link.unused()).containsOnlyKeys("sim");

    host.allDead = false;
    runUntilUpOr(host.now + 4 * UNTIL_IT_FAILS);

    assertThat(link.state()).isEqualTo(Link.State.UP);
    assertThat(link.unused()).as("it is used now").isEmpty();
  }

  /** It passed the check of the link's state, and meets the refusal that came meanwhile. */
  @Test
  void whatIsPostedWhileItIsRefusedSaysSo() {
    host.refusal = new Refusal(Refusal.Code.AUTHENTICATION, "another secret");
    link.doWork(); // its answer waits to be read
    TransferState transfer = post();
    host.now += TICK;
    link.doWork();

    assertThat(link.state()).isEqualTo(Link.State.REFUSED);
    assertThat(transfer.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
      assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.REFUSED);
      assertThat(failed.message()).contains("there refused: another secret");
    });
  }

  /** It closed before we ever met, so it told us nothing; but its host says so, again and again. */
  @Test
  void whatIsPostedWhereNobodyListensFailsSoonAndThenAtOnce() {
    host.refusing = true;
    TransferState first = post();
    while (first.end() == null && host.now < 2_000_000_000L) {
      host.now += TICK;
      link.doWork();
      assertThat(first.end() != null && host.now < 500_000_000L).as("given up after %d ns", host.now).isFalse();
    }
    assertLost(first);

    TransferState later = post();
    host.now += TICK;
    link.doWork();
    assertLost(later);

    host.refusing = false;
    runUntilUpOr(host.now + 4 * UNTIL_IT_FAILS);
    assertThat(link.state()).as("nothing is held against it").isEqualTo(Link.State.UP);
    TransferState last = post();
    link.doWork();
    assertThat(last.end()).isEqualTo(new TransferEnd.Done());
  }

  private static void assertLost(TransferState transfer) {
    assertThat(transfer.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
      assertThat(failed.cause()).isEqualTo(TransferEnd.Cause.PEER_LOST);
      assertThat(failed.message()).contains("there is gone: nobody listens at its addresses", "192.0.2.1:1");
    });
  }

  /** Whoever waits for a network that comes up only now is not in a hurry. */
  @Test
  void anAddressThatRefusesWhileAnotherIsSilentIsTriedOn() {
    host.refusing = true;
    host.silentEvery = 3;
    TransferState transfer = post();
    runUntilUpOr(8 * UNTIL_IT_FAILS);
    assertThat(transfer.end()).isNull();
  }

  private TransferState post() {
    TransferState transfer = (TransferState) link.prepare(DataRequest.Op.WRITE,
        new TransferPlan(BlockPairs.of(BlockList.of(64, 0), BlockList.of(64, 0)), new Region[0], new RemoteRegion[0]));
    transfer.timeout(Duration.ofHours(1)).post();
    return transfer;
  }

  private void runUntilUpOr(long time) {
    while (link.state() != Link.State.UP && host.now < time) {
      host.now += TICK;
      host.failWhatIsOver();
      link.doWork();
    }
  }

  private static final class Host extends SteppedOwner {
    boolean allDead;
    boolean refusing;
    int silentEvery = Integer.MAX_VALUE;
    @Nullable
    Refusal refusal;
    int attempts;
    int sessionsAskedFor;
    final List<String> warnings = new ArrayList<>();
    private final List<Runnable> failing = new ArrayList<>();
    private final List<Long> failingAt = new ArrayList<>();

    void failWhatIsOver() {
      while (!failing.isEmpty() && failingAt.getFirst() <= now) {
        failingAt.removeFirst();
        failing.removeFirst().run();
      }
    }

    @Override
    public void log(Level level, String line) {
      if (level == Level.WARNING) {
        warnings.add(line);
      }
    }

    @Override
    public PathOpener opener() {
      return (request, callback) -> {
        Hello hello = request.hello();
        attempts++;
        sessionsAskedFor += hello.session() == 0 ? 1 : 0;
        Refusal refused = refusal;
        if (refused != null) {
          callback.accept(new OpenResult.Refused(refused));
        } else if (refusing) {
          callback.accept(new OpenResult.Failed(attempts % silentEvery == 0
              ? new PathFault(PathFault.Kind.TIMED_OUT, "connect 192.0.2.1:1: no answer in time")
              : new PathFault(PathFault.Kind.REFUSED, "connect 192.0.2.1:1: Connection refused")));
        } else if (allDead || request.rail().name().equals("dead")) {
          failing.add(() -> callback.accept(new OpenResult.Failed(
              new PathFault(PathFault.Kind.UNREACHABLE, "no answer to queue pair " + attempts))));
          failingAt.add(now + UNTIL_IT_FAILS);
        } else {
          int session = hello.session() == 0 ? sessionsAskedFor : hello.session();
          callback.accept(
              new OpenResult.Opened(new IdleConnection(hello.key()) {}, new Welcome(7, session, 3000, 1024, 0)));
        }
      };
    }
  }
}
