/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Arrays;

/**
 * Figures that were taken several times.
 *
 * @param median the middle one
 * @param low the lower quartile
 * @param high the upper quartile
 */
public record Spread(double median, double low, double high) {

  /**
   * Of at least one figure.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Spread of(double[] figures) {
    if (figures.length == 0) {
      throw new IllegalArgumentException("no figures to summarise");
    }
    double[] sorted = figures.clone();
    Arrays.sort(sorted);
    return new Spread(quantile(sorted, 0.5), quantile(sorted, 0.25), quantile(sorted, 0.75));
  }

  /** Interpolated between neighbours. */
  private static double quantile(double[] sorted, double share) {
    double position = share * (sorted.length - 1);
    int below = (int) position;
    int above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
  }
}
