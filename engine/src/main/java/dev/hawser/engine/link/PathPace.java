/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

/**
 * How fast a path is, measured while it is busy, and how much may be under way on it: enough to keep it busy, and little
 * enough that what is posted next is not long behind it. Owned by the path's owner.
 */
final class PathPace {
  /** The same guess for all until there is something to measure. */
  private static final double FIRST_RATE = 1e9;

  private static final long FEWEST_IN_FLIGHT = 128 << 10;

  /** What is under way may take so long, besides twice the way there and back. */
  private static final long QUEUE_NANOS = 20_000_000;

  /**
   * Where several share a queue, which is not ours alone to fill, the way counts for no longer than this. Who joins a queue
   * that is full has never seen it empty, takes the wait in it for the way, asks for twice of that, and so keeps it full.
   */
  private static final long LONGEST_SHARED_WAY_NANOS = 2_000_000;

  /** A sample takes at least so long, and so many chunks. */
  private static final long SAMPLE_NANOS = 2_000_000;

  private static final int SAMPLE_CHUNKS = 2;
  private static final long SAMPLE_BYTES = 64 << 10;

  /**
   * A sample weighs by how long it took: what is fast for a moment is a queue somewhere that was empty. A path that has
   * become slower is believed sooner than one that has become faster.
   */
  private static final double BELIEVED_FASTER_NANOS = 20_000_000;

  private static final double BELIEVED_SLOWER_NANOS = 5_000_000;

  /** However long it took: one chunk that was held up somewhere says little. */
  private static final double MOST_BELIEVED = 0.5;

  /**
   * What was measured is doubted the more the longer others are busy beside it, or a path that looked too slow to be used
   * would never be measured again. It may be four times as fast after the time that so many bytes take on it, so that
   * looking again costs little where it is as slow as it was.
   */
  private static final double DOUBTED_BYTES = 12 << 20;

  /** In that time the least time is forgotten, since ways change; sooner, and a queue of ours would pass for the way. */
  private static final double FORGOTTEN_NANOS = 10e9;

  /** A small chunk that takes so many times what its bytes and the way need has waited behind others. */
  private static final double WAITED = 10;

  /** So much may be under way where others may be, until there is something to measure. */
  private static final long FIRST_FLIGHT = 2 << 20;

  private final long firstFlight;
  private double rate = FIRST_RATE;

  /** How long others have been busy while this path was idle. */
  private long leftOutNanos;

  /** What it may have been when it was idle last, until there is a sample that tells. */
  private double mayBe;

  private int waits;
  private boolean measured;
  private double leastNanos = Double.MAX_VALUE;
  private long since;
  private long bytes;
  private int chunks;

  /** The largest chunk since the path was idle. */
  private long largest;

  /**
   * Nothing measured yet.
   *
   * @param shared whether what is under way waits in queues of others
   */
  PathPace(boolean shared) {
    firstFlight = shared ? FIRST_FLIGHT : Long.MAX_VALUE;
  }

  /** A chunk is posted; whether nothing else is under way. */
  void posted(long length, boolean first, long now) {
    if (first) {
      mayBe = rate(true, now);
      leftOutNanos = 0;
      largest = 0;
      begin(now);
    }
    largest = Math.max(largest, length);
  }

  private void begin(long now) {
    since = now;
    bytes = 0;
    chunks = 0;
  }

  /**
   * A chunk was acknowledged.
   *
   * @param nanos since it was posted
   * @param idle whether nothing is under way any more
   */
  void acknowledged(long length, long nanos, boolean idle, long now) {
    if (measured && length <= SAMPLE_BYTES && nanos > WAITED * (leastNanos + length * 1e9 / rate)) {
      waits++;
    }
    leastNanos = Math.min(leastNanos, Math.max(1.0, (double) nanos));
    bytes += length;
    chunks++;
    long elapsed = now - since;
    boolean enough = elapsed >= SAMPLE_NANOS && chunks >= SAMPLE_CHUNKS;
    if (!enough && !(idle && bytes >= SAMPLE_BYTES && elapsed > 0)) {
      return;
    }
    double sample = bytes * 1e9 / elapsed;
    double doubt = sample > rate ? BELIEVED_FASTER_NANOS : BELIEVED_SLOWER_NANOS;
    double believed = Math.min(MOST_BELIEVED, elapsed / (elapsed + doubt));
    rate = measured ? Math.max(rate + (sample - rate) * believed, Math.min(sample, mayBe)) : sample;
    measured = true;
    mayBe = 0;
    leastNanos *= 1 + elapsed / FORGOTTEN_NANOS;
    begin(now);
  }

  /** Others have been busy for so long while this path was idle. */
  void leftOut(long nanos) {
    leftOutNanos += nanos;
  }

  /**
   * Bytes per second. A busy path of which nothing is heard has become slower, however fast it was; one that was left out
   * may have become faster.
   *
   * @param idle whether nothing is under way
   */
  double rate(boolean idle, long now) {
    if (idle) {
      double doubt = 1 + leftOutNanos * rate / (DOUBTED_BYTES * 1e9);
      return rate * doubt * doubt;
    }
    long elapsed = now - since;
    return elapsed <= 0 ? rate : Math.min(rate, (bytes + largest) * 1e9 / elapsed);
  }

  /** Bytes that may be under way, at most {@code limit}. */
  long flight(long limit) {
    return Math.min(limit, measured ? Math.max(FEWEST_IN_FLIGHT, bytesOf(QUEUE_NANOS, leastNanos)) : firstFlight);
  }

  /** Bytes under way that keep the path as busy as it is, at most {@code limit}. */
  long wanted(long limit) {
    return Math.min(
        limit, measured ? bytesOf(QUEUE_NANOS, Math.min(leastNanos, LONGEST_SHARED_WAY_NANOS)) : firstFlight);
  }

  private long bytesOf(long queueNanos, double wayNanos) {
    return (long) (rate * (queueNanos + 2 * wayNanos) / 1e9);
  }

  /** Small chunks that waited behind others since {@link #forgetWaits}. */
  int waits() {
    return waits;
  }

  void forgetWaits() {
    waits = 0;
  }
}
