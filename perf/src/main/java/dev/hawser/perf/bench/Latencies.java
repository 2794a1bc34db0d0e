/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import org.HdrHistogram.Histogram;

/**
 * Percentiles in microseconds.
 *
 * @param p50 the median
 * @param p90 nine of ten are not above
 * @param p99 99 of 100 are not above
 * @param p999 999 of 1000 are not above
 * @param max the greatest
 */
public record Latencies(double p50, double p90, double p99, double p999, double max) {

  /** Of a histogram of nanoseconds. */
  static Latencies of(Histogram nanos) {
    return new Latencies(at(nanos, 50), at(nanos, 90), at(nanos, 99), at(nanos, 99.9), nanos.getMaxValue() / 1e3);
  }

  private static double at(Histogram nanos, double percentile) {
    return nanos.getValueAtPercentile(percentile) / 1e3;
  }
}
