/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.Priority;
import java.util.ArrayDeque;

/**
 * Whose turn it is: one chunk each, in turn; those of LATENCY before those of BULK, which get a turn after so many of the
 * others', so that they do not starve. Owned by the link's owner.
 */
final class Turns<T> {
  /** Chunks of LATENCY for one of BULK. */
  static final int SHARE = 8;

  /** What came of a turn. */
  enum Outcome {
    /** Posted, and there is more. */
    MORE,
    /** Posted, and nothing is left. */
    LAST,
    /** Nothing can be posted now. */
    WAIT,
    /** There is nothing to post any more. */
    GONE
  }

  /** Takes a turn. */
  interface Server<T> {
    Outcome serve(T t);
  }

  private final ArrayDeque<T> urgent = new ArrayDeque<>();
  private final ArrayDeque<T> bulk = new ArrayDeque<>();
  private int since;

  boolean isEmpty() {
    return urgent.isEmpty() && bulk.isEmpty();
  }

  /** Whether any of BULK has more to post. */
  boolean hasBulk() {
    return !bulk.isEmpty();
  }

  void add(T t, Priority priority) {
    (priority == Priority.LATENCY ? urgent : bulk).add(t);
  }

  void remove(T t) {
    if (!urgent.remove(t)) {
      bulk.remove(t);
    }
  }

  /**
   * Gives turns until nobody can post.
   *
   * @return how many posted
   */
  int pump(Server<T> server) {
    int posted = 0;
    int idle = 0;
    while (idle < urgent.size()) {
      // Before the others', or there would be no room left for it.
      if (since >= SHARE && !bulk.isEmpty() && turn(bulk, server)) {
        since = 0;
        posted++;
      }
      if (turn(urgent, server)) {
        posted++;
        idle = 0;
        since++;
      } else {
        idle++;
      }
    }
    idle = 0;
    while (idle < bulk.size()) {
      if (turn(bulk, server)) {
        posted++;
        idle = 0;
      } else {
        idle++;
      }
    }
    return posted;
  }

  /** True if something was posted. */
  private boolean turn(ArrayDeque<T> queue, Server<T> server) {
    T t = queue.remove();
    Outcome outcome = server.serve(t);
    if (outcome == Outcome.MORE || outcome == Outcome.WAIT) {
      queue.add(t);
    }
    return outcome == Outcome.MORE || outcome == Outcome.LAST;
  }
}
