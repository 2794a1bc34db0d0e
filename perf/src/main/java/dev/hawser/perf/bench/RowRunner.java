/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Measures rows over directions that go at once: rounds of arm, go and check, first to warm up, then to count. Only the
 * time of {@code go} counts.
 */
final class RowRunner {
  private final List<Direction> directions;
  private final List<String> nodes;
  private final ToLongFunction<String> cpuNanos;
  private long generation;

  /**
   * A runner.
   *
   * @param directions what goes at once; at least one
   * @param nodes the processes whose processor time counts
   * @param cpuNanos a node's processor time so far
   * @param generation of the last round that the directions' memory has seen
   */
  RowRunner(List<Direction> directions, List<String> nodes, ToLongFunction<String> cpuNanos, long generation) {
    this.directions = List.copyOf(directions);
    this.nodes = List.copyOf(nodes);
    this.cpuNanos = cpuNanos;
    this.generation = generation;
  }

  /** Of the last round. */
  long generation() {
    return generation;
  }

  /**
   * What a row gave.
   *
   * @param requests that ended well, of all directions
   * @param nanos in which they did
   * @param perDirection what each direction gave, in order
   * @param timings of all directions
   * @param cpuNanos processor time of the nodes
   * @param rails of all directions
   * @param wrong what was found wrong or failed; null if nothing was
   */
  record Result(long requests, long nanos, List<Round> perDirection, Timings timings,
      long cpuNanos,
      List<RailUse> rails, @Nullable String wrong) {}

  private static final class Sums {
    final long[] requests;
    final long[] nanos;
    long wall;
    long cpu;
    @Nullable
    String wrong;

    Sums(int directions) {
      requests = new long[directions];
      nanos = new long[directions];
    }

    List<Round> perDirection() {
      List<Round> rounds = new ArrayList<>();
      for (int i = 0; i < requests.length; i++) {
        rounds.add(new Round(requests[i], nanos[i], null));
      }
      return rounds;
    }

    long total() {
      long sum = 0;
      for (long each : requests) {
        sum += each;
      }
      return sum;
    }
  }

  /**
   * Measures one row.
   *
   * @param progress told the share that is done, 0 to 1
   */
  Result run(RowPlan plan, RowTiming timing, Consumer<Double> progress) {
    directions.forEach(direction -> direction.prepare(plan));
    boolean once = plan.verify() == Verify.FULL || timing.iterations() > 0;
    try (
        ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().name("bench-go-").factory())) {
      Sums warm = new Sums(directions.size());
      long warmup = timing.warmup().toNanos();
      while (warm.wall < warmup && warm.wrong == null) {
        round(threads, plan, once ? 0 : warmup, warm);
      }
      directions.forEach(Direction::forget);
      List<RailBytes> before = directions.stream().map(Direction::railBytes).toList();
      Sums sums = new Sums(directions.size());
      sums.wrong = warm.wrong;
      long duration = timing.duration().toNanos();
      while (sums.wrong == null && !isEnough(sums, timing)) {
        round(threads, plan, once ? 0 : duration, sums);
        progress.accept(Math.min(1, timing.iterations() > 0
            ? (double) sums.total() / timing.iterations()
            : (double) sums.wall / duration));
      }
      Timings timings = Timings.empty();
      List<RailUse> rails = new ArrayList<>();
      for (int i = 0; i < directions.size(); i++) {
        timings.add(directions.get(i).timings());
        rails.addAll(directions.get(i).railBytes().since(before.get(i)));
      }
      return new Result(sums.total(), sums.wall, sums.perDirection(), timings, sums.cpu, rails, sums.wrong);
    }
  }

  private static boolean isEnough(Sums sums, RowTiming timing) {
    return sums.wall > 0 && (timing.iterations() > 0
        ? sums.total() >= timing.iterations()
        : sums.wall >= timing.duration().toNanos());
  }

  private void round(ExecutorService threads, RowPlan plan, long nanos, Sums sums) {
    generation++;
    for (Direction direction : directions) {
      direction.arm(generation);
    }
    long cpu = cpu();
    List<Round> rounds = go(threads, nanos);
    sums.cpu += cpu() - cpu;
    long wall = 0;
    for (int i = 0; i < rounds.size(); i++) {
      Round round = rounds.get(i);
      sums.requests[i] += round.requests();
      sums.nanos[i] += round.nanos();
      wall = Math.max(wall, round.nanos());
      if (round.failure() != null && sums.wrong == null) {
        sums.wrong = directions.get(i).name() + ": " + round.failure();
      }
    }
    sums.wall += wall;
    for (int i = 0; i < directions.size() && sums.wrong == null; i++) {
      String wrong = directions.get(i).check(generation);
      if (wrong != null) {
        sums.wrong = directions.get(i).name() + ": wrong bytes after a " + plan.op().text() + " in round " + generation
            + ": " + wrong;
      }
    }
  }

  private long cpu() {
    long sum = 0;
    for (String node : nodes) {
      sum += cpuNanos.applyAsLong(node);
    }
    return sum;
  }

  private List<Round> go(ExecutorService threads, long nanos) {
    if (directions.size() == 1) {
      return List.of(directions.getFirst().go(nanos));
    }
    List<Future<Round>> futures = new ArrayList<>();
    for (Direction direction : directions) {
      futures.add(threads.submit(() -> direction.go(nanos)));
    }
    List<Round> rounds = new ArrayList<>();
    for (Future<Round> future : futures) {
      try {
        // Each direction has its own deadlines.
        rounds.add(future.get());
      } catch (ExecutionException e) {
        if (e.getCause() instanceof RuntimeException cause) {
          throw cause;
        }
        throw new BenchException("a direction failed: " + e.getCause(), e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new BenchException("interrupted in the middle of a round", e);
      }
    }
    return rounds;
  }
}
