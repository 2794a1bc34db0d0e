/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.plot;

import java.util.List;

/**
 * A line of a drawing.
 *
 * @param name what the legend calls it
 * @param points in rising order of size
 */
public record Series(String name, List<Point> points) {

  public Series {
    points = List.copyOf(points);
  }

  /**
   * One mark.
   *
   * @param bytes where it stands
   * @param value how high, positive
   */
  public record Point(long bytes, double value) {}
}
