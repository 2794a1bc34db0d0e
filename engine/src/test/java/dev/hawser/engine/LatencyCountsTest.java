/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class LatencyCountsTest {
  @Test
  void bucketsGrowWithTheDurationAndCoverAllOfThem() {
    int before = -1;
    for (long nanos = 0; nanos < 1 << 20; nanos++) {
      int bucket = LatencyCounts.bucket(nanos);
      assertThat(bucket).isBetween(before, before + 1);
      before = bucket;
    }
    assertThat(LatencyCounts.bucket(-5)).isZero();
    assertThat(LatencyCounts.bucket((1L << 43) - 1)).isEqualTo(LatencyCounts.BUCKETS - 1);
    assertThat(LatencyCounts.bucket(Long.MAX_VALUE)).isEqualTo(LatencyCounts.BUCKETS - 1);
  }

  @Test
  void quantileIsOffByAnEighthAtMost() {
    Random random = new Random(1);
    for (int i = 0; i < 1_000; i++) {
      long nanos = 8 + (random.nextLong() >>> (22 + random.nextInt(36)));
      assertThat(of(nanos).quantile(0.5)).isCloseTo((double) nanos, Percentage.withPercentage(12.5));
    }
  }

  @Test
  void quantilesFollowTheOrder() {
    LatencyCounts counts = LatencyCounts.EMPTY;
    for (int i = 0; i < 98; i++) {
      counts = counts.plus(of(1_000));
    }
    counts = counts.plus(of(1_000_000)).plus(of(1_000_000_000));

    assertThat(counts.count()).isEqualTo(100);
    assertThat(counts.quantile(0.5)).isCloseTo(1e3, Percentage.withPercentage(12.5));
    assertThat(counts.quantile(0.99)).isCloseTo(1e6, Percentage.withPercentage(12.5));
    assertThat(counts.quantile(1)).isCloseTo(1e9, Percentage.withPercentage(12.5));
    assertThat(LatencyCounts.EMPTY.quantile(0.5)).isZero();
  }

  @Test
  void sinceTakesTheEarlierAway() {
    LatencyCounts earlier = of(10).plus(of(5_000));

    assertThat(earlier.plus(of(70)).since(earlier).count()).isEqualTo(1);
    assertThat(earlier.plus(of(70)).since(earlier).quantile(0.5)).isCloseTo(70, Percentage.withPercentage(12.5));
    assertThat(earlier.since(earlier).count()).isZero();
    assertThat(earlier.since(LatencyCounts.EMPTY)).isEqualTo(earlier);
  }

  private static LatencyCounts of(long nanos) {
    long[] counts = new long[LatencyCounts.bucket(nanos) + 1];
    counts[LatencyCounts.bucket(nanos)] = 1;
    return LatencyCounts.of(counts);
  }
}
