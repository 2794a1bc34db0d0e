/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import java.util.Arrays;

/**
 * How often something took how long: counts by duration, in buckets of at most a quarter of an octave, so that a quantile
 * is off by at most an eighth. Immutable, hence thread-safe.
 */
public final class LatencyCounts {
  /** Nothing counted. */
  public static final LatencyCounts EMPTY = new LatencyCounts(new long[0]);

  /** Of each octave. */
  private static final int PARTS = 4;

  private static final int PART_BITS = 2;

  /** Up to 2^43 ns, more than two hours; what takes longer counts as that. */
  private static final int OCTAVES = 42;

  /** How many buckets there are. */
  public static final int BUCKETS = OCTAVES * PARTS;

  private final long[] counts;

  private LatencyCounts(long[] counts) {
    this.counts = counts;
  }

  /**
   * What was counted.
   *
   * @param counts by {@link #bucket}, copied; those at the end may be missing
   */
  public static LatencyCounts of(long[] counts) {
    return new LatencyCounts(counts.clone());
  }

  /** Where a duration of so many nanoseconds is counted; a negative one counts as none. */
  public static int bucket(long nanos) {
    if (nanos < PARTS) {
      return (int) Math.max(0, nanos);
    }
    int octave = 63 - Long.numberOfLeadingZeros(nanos);
    int part = (int) (nanos >>> (octave - PART_BITS)) & (PARTS - 1);
    return Math.min(BUCKETS - 1, (octave - 1) * PARTS + part);
  }

  /** The middle of a bucket, nanoseconds. */
  private static double middle(int bucket) {
    if (bucket < PARTS) {
      return bucket;
    }
    double part = Math.scalb(1.0, bucket / PARTS + 1 - PART_BITS);
    return (PARTS + bucket % PARTS + 0.5) * part;
  }

  /** How many were counted. */
  public long count() {
    return Arrays.stream(counts).sum();
  }

  /** All of them together, nanoseconds; off by at most an eighth. */
  public long totalNanos() {
    double sum = 0;
    for (int i = 0; i < counts.length; i++) {
      sum += counts[i] * middle(i);
    }
    return (long) sum;
  }

  /**
   * The duration that a part of them did not exceed, nanoseconds; 0 if none was counted.
   *
   * @param part 0.5 for the median
   */
  public double quantile(double part) {
    long left = (long) Math.ceil(part * count());
    for (int i = 0; i < counts.length; i++) {
      left -= counts[i];
      if (left <= 0 && counts[i] > 0) {
        return middle(i);
      }
    }
    return 0;
  }

  /** What was counted since an earlier look at the same counts. */
  public LatencyCounts since(LatencyCounts earlier) {
    return combine(earlier, -1);
  }

  /** Both together. */
  public LatencyCounts plus(LatencyCounts others) {
    return combine(others, 1);
  }

  private LatencyCounts combine(LatencyCounts others, int sign) {
    long[] all = Arrays.copyOf(counts, Math.max(counts.length, others.counts.length));
    for (int i = 0; i < others.counts.length; i++) {
      all[i] += sign * others.counts[i];
    }
    return new LatencyCounts(all);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LatencyCounts that && Arrays.equals(counts, that.counts);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(counts);
  }

  @Override
  public String toString() {
    return count() + " with p50 " + quantile(0.5) + " ns, p99 " + quantile(0.99) + " ns";
  }
}
