/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Several initiators write to one target, by a port that takes what comes in the order in which it comes. What each gets of
 * it is then what it has in the queue, and nothing in the network makes that fair. Virtual time; the engine's own pace,
 * policy and shares.
 */
class IncastSimulationTest {
  private static final int MIB = 1 << 20;
  private static final double GIGABIT = 125e6;
  private static final long STEP = 20_000;
  private static final long ROUND_TRIP = 100_000;
  private static final int LEAST = 64 << 10;
  private static final int MOST_CHUNK = MIB;
  private static final long MOST_IN_FLIGHT = 16L * MIB;
  private static final long SECOND = 1_000_000_000;

  /** What the target does with a demand. */
  private interface Lender {
    long lend(ByteShares.Member member, long wanted, long most, boolean held, long now);
  }

  /** Something on its way through the port: a chunk, or a demand of no bytes. */
  private static final class Piece {
    final Runnable arrived;
    double left;
    long through;

    Piece(long bytes, Runnable arrived) {
      this.left = bytes;
      this.arrived = arrived;
    }
  }

  private static final class Port {
    final ArrayDeque<Piece> queue = new ArrayDeque<>();
    final ArrayDeque<Piece> through = new ArrayDeque<>();
    long longest;
    long waiting;
    long now;

    void step() {
      now += STEP;
      double may = GIGABIT * STEP / 1e9;
      while (!queue.isEmpty() && may >= 0) {
        Piece head = queue.element();
        double n = Math.min(may, head.left);
        head.left -= n;
        may -= n;
        if (head.left > 0) {
          break;
        }
        head.through = now;
        through.add(queue.remove());
      }
      while (!through.isEmpty() && through.element().through + ROUND_TRIP <= now) {
        through.remove().arrived.run();
      }
    }
  }

  private static final class Request {
    final long began;
    long claimed;
    long acknowledged;
    long idleSince;

    Request(long began) {
      this.began = began;
      this.idleSince = began;
    }
  }

  /** What each initiator has to do, always: so many requests of so many bytes at a time. */
  private record Load(long size, int depth) {}

  private static final Load LARGE = new Load(4 * MIB, 2);
  private static final Load SMALL = new Load(MIB, 4);

  private static final class Initiator {
    final Port port;
    final Lender lender;
    final EarliestPath policy = new EarliestPath(LEAST);
    final PathPace pace = new PathPace(true);
    final PathTable table = new PathTable();
    final RouteFlight flight = new RouteFlight(new ByteShares(), new ByteShares(), LEAST, 0);
    final ByteShares.Member member = new ByteShares.Member();
    final Random random;
    final Load load;
    final List<Request> requests = new ArrayList<>();
    final List<Long> took = new ArrayList<>();
    long inFlight;
    long acknowledged;
    long mostLeft;
    long mostSeen;

    Initiator(Port port, Lender lender, Load load, long seed) {
      this.port = port;
      this.lender = lender;
      this.load = load;
      this.random = new Random(seed);
    }

    void pump() {
      long now = port.now;
      while (requests.size() < load.depth) {
        requests.add(new Request(now));
      }
      table.clear();
      table.add(pace.rate(inFlight == 0, now), inFlight, pace.flight(MOST_IN_FLIGHT), true);
      flight.clear();
      flight.add(inFlight, 0, pace.wanted(MOST_IN_FLIGHT), MOST_IN_FLIGHT);
      for (Request each : requests) {
        while (each.claimed < load.size && post(each, now)) {
          // as much as there is room for
        }
      }
      mostLeft = mostSeen;
      mostSeen = 0;
      flight.report(this::demand, now);
    }

    private boolean post(Request request, long now) {
      long remaining = load.size - request.claimed;
      mostSeen = Math.max(mostSeen, remaining);
      boolean starved = isStarved(request, remaining, now);
      int row = policy.choose(table, remaining, starved, bound -> random.nextInt((int) bound));
      long left = row == ChunkPolicy.WAIT ? 0 : flight.left(Op.WRITE, remaining);
      if (left == 0) {
        return false;
      }
      long length = Math.min(left, policy.length(table, row, remaining, MOST_CHUNK));
      pace.posted(length, inFlight == 0, now);
      port.queue.add(new Piece(length, () -> acknowledge(request, length, now)));
      port.waiting += length;
      port.longest = Math.max(port.longest, port.waiting);
      inFlight += length;
      flight.posted(Op.WRITE, length);
      table.posted(row, length, true);
      request.claimed += length;
      return true;
    }

    /** As the engine has it. */
    private boolean isStarved(Request request, long remaining, long now) {
      if (request.claimed > request.acknowledged) {
        request.idleSince = now;
      }
      return mostLeft > 4 * (inFlight + remaining) || (now - request.idleSince) * table.rateSum() > 2e9 * inFlight;
    }

    private void acknowledge(Request request, long length, long posted) {
      long now = port.now;
      inFlight -= length;
      port.waiting -= length;
      acknowledged += length;
      pace.acknowledged(length, now - posted, inFlight == 0, now);
      request.acknowledged += length;
      if (request.acknowledged == load.size) {
        requests.remove(request);
        took.add(now - request.began);
      }
    }

    /** It waits in the port's queue as well; the answer goes the other way, where nothing waits. */
    private void demand(@Nullable PathGeneration over, long wanted, long most, boolean held) {
      port.queue.add(
          new Piece(
              0,
              () -> {
                long share = lender.lend(member, wanted, most, held, port.now);
                flight.lent(share == ByteShares.ALONE ? -1 : share, port.now);
              }));
    }
  }

  /** What came of one history. */
  private record Outcome(double farthest, double used, double p99, double queueSeconds) {}

  /** The mean of ten histories, for in each of them much is a matter of who came when. */
  private static Outcome mean(Load load, Supplier<Lender> lenders) {
    List<Outcome> all = new ArrayList<>();
    for (int millis = 1; millis < 60; millis += 6) {
      all.add(run(load, lenders.get(), millis * 1_000_000L));
    }
    return new Outcome(
        mean(all, Outcome::farthest), mean(all, Outcome::used), mean(all, Outcome::p99),
        mean(all, Outcome::queueSeconds));
  }

  private static double mean(List<Outcome> all, ToDoubleFunction<Outcome> of) {
    return all.stream().mapToDouble(of).average().orElseThrow();
  }

  /** One initiator is there before the others, which come one by one; then two seconds are measured. */
  private static Outcome run(Load load, Lender lender, long apart) {
    Port port = new Port();
    List<Initiator> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(new Initiator(port, lender, load, i));
    }
    while (port.now < SECOND) {
      port.step();
      for (int i = 0; i < 4; i++) {
        if (port.now > i * apart) {
          all.get(i).pump();
        }
      }
    }
    for (Initiator each : all) {
      each.acknowledged = 0;
      each.took.clear();
    }
    port.longest = 0;
    while (port.now < 3 * SECOND) {
      port.step();
      all.forEach(Initiator::pump);
    }
    double fair = all.stream().mapToLong(i -> i.acknowledged).sum() / 4.0;
    double farthest = 0;
    List<Long> took = new ArrayList<>();
    for (Initiator each : all) {
      farthest = Math.max(farthest, Math.abs(each.acknowledged / fair - 1));
      took.addAll(each.took);
    }
    Collections.sort(took);
    double ideal = 4.0 * load.depth * load.size / GIGABIT;
    return new Outcome(
        farthest,
        fair * 4 / (2 * GIGABIT),
        took.get(took.size() * 99 / 100) / 1e9 / ideal,
        port.longest / GIGABIT);
  }

  @Test
  void theTargetSharesItsPort() {
    Outcome small = mean(SMALL, () -> new ByteShares()::report);
    Outcome large = mean(LARGE, () -> new ByteShares()::report);

    assertThat(small.farthest()).as("the farthest from its fair share: %s", small).isLessThan(0.05);
    assertThat(large.farthest()).as("the farthest from its fair share: %s", large).isLessThan(0.05);
    for (Outcome outcome : List.of(small, large)) {
      assertThat(outcome.used()).as("%s", outcome).isGreaterThan(0.97);
      assertThat(outcome.p99()).as("p99 of what is ideal: %s", outcome).isLessThan(1.5);
      // All that they may have under way, 8 MiB each, would be 0.27 s.
      assertThat(outcome.queueSeconds()).as("the queue, in seconds: %s", outcome).isLessThan(0.06);
    }
  }

  /** The planted fault. Among equals it is fair by itself, but the queue that each of them waits in is longer. */
  @Test
  void nobodyShares() {
    Outcome alone = mean(SMALL, () -> (member, wanted, most, held, now) -> ByteShares.ALONE);
    Outcome shared = mean(SMALL, () -> new ByteShares()::report);

    assertThat(alone.queueSeconds()).as("%s, shared %s", alone, shared).isGreaterThan(2 * shared.queueSeconds());
  }

  /** A tempting simplification: to each what it asks for, cut down in proportion. */
  @Test
  void sharesInProportionAreNotFair() {
    Outcome shared = mean(LARGE, () -> new ByteShares()::report);
    Outcome outcome =
        mean(LARGE, () -> {
          ByteShares shares = new ByteShares();
          return (member, wanted, most, held, now) -> {
            shares.report(member, wanted, most, held, now);
            return wanted;
          };
        });

    assertThat(outcome.farthest()).as("%s, shared %s", outcome, shared).isGreaterThan(2 * shared.farthest());
  }

  @Test
  void whoIsSlowByItselfLeavesTheRestToOthers() {
    ByteShares shares = new ByteShares();
    ByteShares.Member slow = new ByteShares.Member();
    ByteShares.Member one = new ByteShares.Member();
    ByteShares.Member two = new ByteShares.Member();

    assertThat(shares.report(slow, 100, 10_000, false, 1)).isEqualTo(ByteShares.ALONE);
    shares.report(one, 500, 10_000, true, 2);
    assertThat(shares.report(two, 600, 10_000, true, 3)).isEqualTo((100 + 500 + 600 - 100) / 2);
    assertThat(shares.report(one, 20_000, 10_000, true, 4)).as("never more than one alone may have")
        .isEqualTo((10_000 - 100) / 2);
    assertThat(shares.report(one, 500, 10_000, true, 2 + ByteShares.LATELY_NANOS)).as("the slow one is forgotten")
        .isEqualTo((500 + 600) / 2);
    assertThat(shares.report(two, 600, 10_000, true, 6 + 3 * ByteShares.LATELY_NANOS)).isEqualTo(ByteShares.ALONE);
  }
}
