/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/** Virtual time and everything that will happen: the same seed gives the same history. */
public final class SimWorld {
  private record Event(long time, long order, Runnable action) {}

  private final PriorityQueue<Event> events =
      new PriorityQueue<>((a, b) -> a.time != b.time ? Long.compare(a.time, b.time) : Long.compare(a.order, b.order));
  private final SplittableRandom random;
  private final ArrayDeque<String> history = new ArrayDeque<>();
  private final List<String> violations = new ArrayList<>();
  private long now = 1_000_000_000L;
  private long sequence;

  /** A world of its own for this seed. */
  public SimWorld(long seed) {
    random = new SplittableRandom(seed);
  }

  public long now() {
    return now;
  }

  /** A random number from {@code [0, bound)}; 0 if the bound is not positive. */
  public long random(long bound) {
    return bound <= 0 ? 0 : random.nextLong(bound);
  }

  /** True with this probability in per mille. */
  public boolean chance(int perMille) {
    return random.nextInt(1000) < perMille;
  }

  /** Lets something happen later; what is due at the same time happens in random order. */
  public void after(long delay, Runnable action) {
    events.add(new Event(now + Math.max(0, delay), random.nextLong() << 20 | (sequence++ & 0xfffff), action));
  }

  /** Runs everything that is due until then. */
  public void runUntil(long time) {
    while (true) {
      Event next = events.peek();
      if (next == null || next.time - time > 0) {
        now = time;
        return;
      }
      events.poll();
      now = next.time;
      next.action.run();
      if (!violations.isEmpty()) {
        return;
      }
    }
  }

  /** Notes what happened, for the story of a failing seed. */
  public void note(String what) {
    if (history.size() == 400) {
      history.removeFirst();
    }
    history.add("%9.3f ms  %s".formatted((now - 1_000_000_000L) / 1e6, what));
  }

  /** An invariant is broken: the world stops. */
  public void violated(String invariant) {
    note("VIOLATED: " + invariant);
    violations.add(invariant);
  }

  public boolean hasViolation() {
    return !violations.isEmpty();
  }

  /** The first broken invariant, empty if none. */
  public String violation() {
    return violations.isEmpty() ? "" : violations.getFirst();
  }

  /** The last things that happened, a line each. */
  public String story() {
    return String.join("\n", history);
  }
}
