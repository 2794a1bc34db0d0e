/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.plot;

import java.util.List;

/**
 * One of the diagrams, side by side, that a drawing has; all have their series in the same order.
 *
 * @param title what it shows
 * @param unit of its values
 * @param logarithmic whether each step up the axis is a factor
 * @param series what it shows
 */
public record Panel(String title, String unit, boolean logarithmic, List<Series> series) {

  public Panel {
    series = List.copyOf(series);
  }
}
