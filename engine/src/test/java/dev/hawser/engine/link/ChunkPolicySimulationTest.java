/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * How far the policy is from the best that the ways allow, and how it compares with chunks in static turn over all paths
 * and with one path alone. Ways have capacities, which the busy paths on them share; a path is a queue; what it was given
 * is acknowledged one round trip after its last byte left. Rates are measured by the engine's own {@link PathPace}.
 */
class ChunkPolicySimulationTest {
  private static final long MIB = 1 << 20;
  private static final double GIGABIT = 125e6;
  private static final long STEP = 20_000;
  private static final int LEAST = 64 << 10;
  private static final int MOST = 1 << 20;

  /** Whole chunks in static turn, whatever becomes of them. */
  private static final class Turns implements ChunkPolicy {
    private int next;

    @Override
    public int choose(PathTable paths, long remaining, boolean starved, LongUnaryOperator random) {
      int path = next % paths.size();
      if (!paths.hasRoom(path)) {
        return WAIT; // in order: the next in turn is waited for
      }
      next++;
      return path;
    }

    @Override
    public long length(PathTable paths, int path, long remaining, int most) {
      return Math.min(remaining, most);
    }
  }

  private static final class OnePath implements ChunkPolicy {
    @Override
    public int choose(PathTable paths, long remaining, boolean starved, LongUnaryOperator random) {
      return paths.hasRoom(0) ? 0 : WAIT;
    }

    @Override
    public long length(PathTable paths, int path, long remaining, int most) {
      return Math.min(remaining, most);
    }
  }

  private static final class Piece {
    final Transfer transfer;
    final long bytes;
    final long posted;
    double left;
    long left0;

    Piece(Transfer transfer, long bytes, long posted) {
      this.transfer = transfer;
      this.bytes = bytes;
      this.posted = posted;
      this.left = bytes;
    }
  }

  private static final class Transfer {
    final long bytes;
    final long began;
    long claimed;
    long acknowledged;

    Transfer(long bytes, long began) {
      this.bytes = bytes;
      this.began = began;
    }
  }

  private static final class SimPath {
    final int way;
    final PathPace pace = new PathPace(true);
    final ArrayDeque<Piece> queue = new ArrayDeque<>();
    final ArrayDeque<Piece> gone = new ArrayDeque<>();
    long inFlight;

    SimPath(int way) {
      this.way = way;
    }
  }

  /** One initiator: its paths and transfers, one after the other. */
  private static final class Initiator {
    final ChunkPolicy policy;
    final List<SimPath> paths = new ArrayList<>();
    final PathTable table = new PathTable();
    final Random random;
    final List<Double> seconds = new ArrayList<>();
    long acknowledged;
    @Nullable
    Transfer current;
    boolean waits;

    Initiator(ChunkPolicy policy, long seed) {
      this.policy = policy;
      this.random = new Random(seed);
    }

    void pump(long now, long size, int transfers) {
      Transfer t = current;
      if (t == null) {
        if (seconds.size() == transfers) {
          return;
        }
        t = new Transfer(size, now);
        current = t;
      }
      table.clear();
      for (SimPath p : paths) {
        if (waits && p.inFlight == 0) {
          p.pace.leftOut(STEP);
        }
        table.add(p.pace.rate(p.inFlight == 0, now), p.inFlight, p.pace.flight(16 * MIB), true);
      }
      waits = t.claimed < t.bytes;
      while (t.claimed < t.bytes) {
        long remaining = t.bytes - t.claimed;
        int row = policy.choose(table, remaining, false, bound -> random.nextInt((int) bound));
        if (row == ChunkPolicy.WAIT) {
          return;
        }
        long length = policy.length(table, row, remaining, MOST);
        SimPath p = paths.get(row);
        p.pace.posted(length, p.inFlight == 0, now);
        p.queue.add(new Piece(t, length, now));
        p.inFlight += length;
        t.claimed += length;
        table.posted(row, length, true);
      }
    }

    void acknowledge(long now, long roundTrip) {
      for (SimPath p : paths) {
        Piece piece;
        while ((piece = p.gone.peek()) != null && piece.left0 + roundTrip <= now) {
          p.gone.remove();
          p.inFlight -= piece.bytes;
          p.pace.acknowledged(piece.bytes, now - piece.posted, p.inFlight == 0, now);
          acknowledged += piece.bytes;
          Transfer t = piece.transfer;
          t.acknowledged += piece.bytes;
          if (t.acknowledged == t.bytes) {
            seconds.add((now - t.began) / 1e9);
            current = null;
          }
        }
      }
    }
  }

  /** Ways with capacities, and what goes over them. */
  private static final class Network {
    final double[] capacity;
    final long roundTrip;
    final List<Initiator> initiators = new ArrayList<>();
    long now;

    Network(double[] capacity, long roundTrip) {
      this.capacity = capacity;
      this.roundTrip = roundTrip;
    }

    void step(long size, int transfers) {
      now += STEP;
      for (Initiator i : initiators) {
        i.acknowledge(now, roundTrip);
        i.pump(now, size, transfers);
      }
      int[] busy = new int[capacity.length];
      for (Initiator i : initiators) {
        for (SimPath p : i.paths) {
          busy[p.way] += p.queue.isEmpty() ? 0 : 1;
        }
      }
      for (Initiator i : initiators) {
        for (SimPath p : i.paths) {
          double may = capacity[p.way] / Math.max(1, busy[p.way]) * STEP / 1e9;
          while (may > 0 && !p.queue.isEmpty()) {
            Piece head = p.queue.element();
            double n = Math.min(may, head.left);
            head.left -= n;
            may -= n;
            if (head.left <= 0) {
              p.queue.remove();
              head.left0 = now;
              p.gone.add(head);
            }
          }
        }
      }
    }
  }

  private static double[] equal(int n, double each) {
    double[] all = new double[n];
    Arrays.fill(all, each);
    return all;
  }

  private static double sum(double[] all) {
    return Arrays.stream(all).sum();
  }

  /** A share of the optimum, of the transfers after the first two, in which rates are not known yet. */
  private static double share(ChunkPolicy policy, double[] capacity, int[] ways, long size, int transfers,
      double best) {
    Network network = new Network(capacity, 100_000);
    Initiator initiator = new Initiator(policy, 7);
    for (int way : ways) {
      initiator.paths.add(new SimPath(way));
    }
    network.initiators.add(initiator);
    int all = transfers + 2;
    while (initiator.seconds.size() < all && network.now < 600_000_000_000L) {
      network.step(size, all);
    }
    assertThat(initiator.seconds).hasSize(all);
    double took = initiator.seconds.subList(2, all).stream().mapToDouble(x -> x).sum();
    return transfers * (size / best + 1e-4) / took;
  }

  private static void compare(String what, double[] capacity, int[] ways, long size, double atLeast) {
    double reached = sum(Arrays.stream(ways).distinct().mapToDouble(w -> capacity[w]).toArray());
    double ours = share(new EarliestPath(LEAST), capacity.clone(), ways, size, 6, reached);
    double turns = share(new Turns(), capacity.clone(), ways, size, 6, reached);
    double one = share(new OnePath(), capacity.clone(), ways, size, 2, reached);
    System.getLogger(ChunkPolicySimulationTest.class.getName())
        .log(
            System.Logger.Level.INFO,
            "%s: %.3f of the optimum; in static turn %.3f, one path %.3f".formatted(what, ours, turns, one));
    assertThat(ours).as(what).isGreaterThanOrEqualTo(atLeast).isLessThan(1.02);
    assertThat(ours).as(what + ", beside static turns").isGreaterThanOrEqualTo(turns * 0.99);
    assertThat(ours).as(what + ", beside one path").isGreaterThan(one);
  }

  private static int[] range(int n) {
    int[] all = new int[n];
    Arrays.setAll(all, i -> i);
    return all;
  }

  @Test
  void fourEqualRails() {
    compare("4 rails, 64 MiB", equal(4, GIGABIT), range(4), 64 * MIB, 0.97);
  }

  @Test
  void aSingleMebibyteUsesEveryRail() {
    compare("4 rails, 1 MiB", equal(4, GIGABIT), range(4), MIB, 0.95);
  }

  @Test
  void oneRailAtATenth() {
    double[] capacity = equal(4, GIGABIT);
    capacity[2] /= 10;
    compare("4 rails, one at a tenth, 64 MiB", capacity, range(4), 64 * MIB, 0.98);
  }

  @Test
  void railsOfAllSpeeds() {
    double[] capacity = new double[8];
    Arrays.setAll(capacity, i -> GIGABIT * (i + 1) / 4);
    compare("8 rails, 1:8, 64 MiB", capacity, range(8), 64 * MIB, 0.98);
  }

  @Test
  void hundredsOfPathsOverWaysWithCollisions() {
    Random random = new Random(3);
    double[] capacity = equal(32, GIGABIT * 10);
    for (int i = 0; i < 8; i++) {
      capacity[i * 4] /= 2; // foreign traffic
    }
    int[] ways = new int[256];
    Arrays.setAll(ways, i -> random.nextInt(32));
    compare("256 paths, 32 ways of 10 Gb/s, a quarter of them half busy, 1 GiB", capacity, ways, 1024 * MIB, 0.97);
  }

  @Test
  void fourWaysOneLoaded() {
    Random random = new Random(5);
    double[] capacity = equal(4, GIGABIT);
    capacity[1] /= 2;
    int[] ways = new int[32];
    Arrays.setAll(ways, i -> random.nextInt(4));
    compare("32 paths, 4 ways of 1 Gb/s, one half busy, 64 MiB", capacity, ways, 64 * MIB, 0.97);
  }

  @Test
  void aWaySlowsDown() {
    double[] capacity = equal(4, GIGABIT);
    Network network = new Network(capacity, 100_000);
    Initiator initiator = new Initiator(new EarliestPath(LEAST), 7);
    for (int i = 0; i < 4; i++) {
      initiator.paths.add(new SimPath(i));
    }
    network.initiators.add(initiator);
    while (initiator.seconds.size() < 3) {
      network.step(64 * MIB, 8);
    }
    capacity[3] /= 10; // in the middle of the next
    while (initiator.seconds.size() < 8) {
      network.step(64 * MIB, 8);
    }
    double best = 64 * MIB / (3.1 * GIGABIT);
    assertThat(best / initiator.seconds.get(3)).as("the transfer that saw it").isGreaterThan(0.6);
    assertThat(best / initiator.seconds.get(5)).as("two later").isGreaterThan(0.95);
  }

  /** Single requests of 1 MiB over 4 slow rails with two paths each, in a network that a test changes. */
  private static final class Singles {
    final double[] capacity = equal(4, GIGABIT / 4);
    final Network network = new Network(capacity, 100_000);
    final Initiator initiator = new Initiator(new EarliestPath(LEAST), 7);

    Singles() {
      for (int i = 0; i < 8; i++) {
        initiator.paths.add(new SimPath(i % 4));
      }
      network.initiators.add(initiator);
      during(500_000_000L);
    }

    void during(long nanos) {
      for (long end = network.now + nanos; network.now < end;) {
        network.step(MIB, Integer.MAX_VALUE);
      }
    }

    /** A share of the optimum, of what is through in the next second. */
    double share() {
      int before = initiator.seconds.size();
      during(1_000_000_000L);
      List<Double> seen = initiator.seconds.subList(before, initiator.seconds.size());
      double mean = seen.stream().mapToDouble(x -> x).average().orElse(Double.MAX_VALUE);
      return (MIB / sum(capacity) + 1e-4) / mean;
    }
  }

  @Test
  void railsThatStoodStillForAMomentAreUsedAgain() {
    Singles singles = new Singles();
    assertThat(singles.share()).as("before").isGreaterThan(0.9);
    for (int i = 1; i < 4; i++) {
      double capacity = singles.capacity[i];
      singles.capacity[i] = 0;
      singles.during(60_000_000L);
      singles.capacity[i] = capacity;
      singles.during(20_000_000L);
    }
    singles.during(500_000_000L);
    assertThat(singles.share()).as("half a second later").isGreaterThan(0.9);
  }

  /** 16 pieces over 3 rails: 6 of them on one, where 5 and a third would be even. */
  private static final double OVER_THREE_RAILS = 0.88;

  @Test
  void aRailThatWasSlowIsFoundToBeFastAgain() {
    Singles singles = new Singles();
    singles.capacity[3] /= 20;
    singles.during(3_000_000_000L);
    singles.capacity[3] *= 20;
    singles.during(10_000_000_000L);
    assertThat(singles.share()).as("10 s later").isGreaterThan(0.9);
  }

  @Test
  void lookingAgainAtASlowRailCostsLittle() {
    for (int slow : new int[] {10, 20, 100}) {
      Singles singles = new Singles();
      singles.capacity[3] /= slow;
      singles.during(3_000_000_000L);
      double share = 0;
      for (int i = 0; i < 20; i++) {
        share += singles.share() / 20;
      }
      assertThat(share).as("a rail at 1:" + slow).isGreaterThan(OVER_THREE_RAILS * 0.95);
    }
  }

  @Test
  void fourInitiatorsShareATarget() {
    Network network = new Network(equal(1, GIGABIT), 100_000);
    for (int i = 0; i < 4; i++) {
      Initiator initiator = new Initiator(new EarliestPath(LEAST), i);
      initiator.paths.add(new SimPath(0));
      initiator.paths.add(new SimPath(0));
      network.initiators.add(initiator);
    }
    while (network.now < 4_000_000_000L) {
      network.step(4 * MIB, Integer.MAX_VALUE);
    }
    double fair = network.initiators.stream().mapToLong(i -> i.acknowledged).sum() / 4.0;
    for (Initiator each : network.initiators) {
      assertThat(each.acknowledged / fair).isBetween(0.9, 1.1);
    }
    assertThat(fair * 4 / (GIGABIT * 4)).isGreaterThan(0.95);
  }
}
