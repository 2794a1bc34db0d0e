/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.function.LongUnaryOperator;

/**
 * The path that would be through first. A chunk is a quarter of the path's share of what remains, so that the end of a
 * transfer is finely divided; a path that would be through later than all the rest together takes none, so that a slow
 * one does not hold back the tail. Among many paths the better of two drawn at random: nearly as good as the best of all,
 * for a cost that does not grow, and not every initiator hits upon the same one (power of two choices: Mitzenmacher,
 * IEEE TPDS 2001).
 */
final class EarliestPath implements ChunkPolicy {
  /** Up to so many paths all are compared. */
  private static final int FEW = 8;

  private static final int DRAWS = 8;

  /** So much is always posted ahead, in seconds of the path's time. */
  private static final double AHEAD = 0.002;

  private final int least;

  /**
   * The policy.
   *
   * @param least a chunk's smallest size, but for the last
   */
  EarliestPath(int least) {
    this.least = least;
  }

  @Override
  public int choose(PathTable paths, long remaining, boolean starved, LongUnaryOperator random) {
    while (paths.rooms() > FEW) {
      int path = betterOfTwo(paths, remaining, random);
      if (!isTooLate(paths, path, remaining, starved)) {
        return path;
      }
      paths.full(path); // drawn no more in this round
    }
    int path = bestOf(paths, remaining);
    return path == WAIT || isTooLate(paths, path, remaining, starved) ? WAIT : path;
  }

  private int bestOf(PathTable paths, long remaining) {
    int best = WAIT;
    double bestTime = 0;
    for (int i = 0; i < paths.size(); i++) {
      if (paths.hasRoom(i)) {
        double time = paths.through(i, piece(paths, i, remaining));
        if (best == WAIT || time < bestTime) {
          best = i;
          bestTime = time;
        }
      }
    }
    return best;
  }

  private int betterOfTwo(PathTable paths, long remaining, LongUnaryOperator random) {
    int one = draw(paths, random);
    int two = draw(paths, random);
    return paths.through(one, piece(paths, one, remaining)) <= paths.through(two, piece(paths, two, remaining))
        ? one
        : two;
  }

  /** A path with room; there is one. */
  private static int draw(PathTable paths, LongUnaryOperator random) {
    int path = 0;
    for (int i = 0; i < DRAWS; i++) {
      path = (int) random.applyAsLong(paths.size());
      if (paths.hasRoom(path)) {
        return path;
      }
    }
    while (!paths.hasRoom(path)) {
      path = path + 1 == paths.size() ? 0 : path + 1;
    }
    return path;
  }

  /** True if something goes somewhere else, or later, rather than on this path now. */
  private boolean isTooLate(PathTable paths, int path, long remaining, boolean starved) {
    return (!starved && hasEnough(paths, path, remaining)) || isSlow(paths, path, remaining);
  }

  /**
   * True if this path has enough to do for now. What is posted is bound to its path, so at most half of the time that is
   * left is planned ahead: if rates change, or were measured wrongly, the rest goes where it is through earlier. Who has
   * much left, though, never has enough on its paths, and beside it whoever has little would wait until it ends: hence
   * {@code starved}.
   */
  private boolean hasEnough(PathTable paths, int path, long remaining) {
    double through = paths.through(path, Math.min(least, remaining));
    return paths.inFlight(path) > 0 && through > AHEAD && through > all(paths, remaining) / 2;
  }

  /**
   * Near the end, a path that would be through with the smallest piece only when all together have carried everything gets
   * none; there is another then that is through earlier, and is waited for.
   */
  private boolean isSlow(PathTable paths, int path, long remaining) {
    double through = paths.through(path, Math.min(least, remaining));
    if (through <= all(paths, remaining)) {
      return false;
    }
    for (int i = 0; i < paths.size(); i++) {
      if (paths.through(i, Math.min(least, remaining)) < through) {
        return true;
      }
    }
    return false;
  }

  private static double all(PathTable paths, long remaining) {
    return (paths.inFlightSum() + remaining) / paths.rateSum();
  }

  @Override
  public long length(PathTable paths, int path, long remaining, int most) {
    if (paths.size() == 1) {
      return Math.min(remaining, most);
    }
    return Math.min(most, piece(paths, path, remaining));
  }

  private long piece(PathTable paths, int path, long remaining) {
    long share = (long) (remaining * (paths.rate(path) / (4 * paths.rateSum())));
    return Math.min(remaining, Math.max(least, share));
  }
}
