/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.plot;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A scale from values to pixels, with its marks.
 *
 * @param low value at {@code start}
 * @param high value at {@code end}, above {@code low}
 * @param start pixel of the low end
 * @param end pixel of the high end
 * @param logarithmic whether equal steps are equal factors
 * @param marks values to label
 */
record Axis(double low, double high, double start, double end, boolean logarithmic, List<Double> marks) {
  private static final int WANTED_MARKS = 5;

  /** From zero, with round marks. */
  static Axis linear(double highest, double start, double end) {
    double rough = highest / WANTED_MARKS;
    double magnitude = Math.pow(10, Math.floor(Math.log10(rough)));
    double step = magnitude;
    for (double factor : new double[] {1, 2, 2.5, 5, 10}) {
      step = factor * magnitude;
      if (step >= rough) {
        break;
      }
    }
    List<Double> marks = new ArrayList<>();
    int steps = (int) Math.ceil(highest / step * (1 - 1e-9));
    for (int i = 0; i <= steps; i++) {
      marks.add(i * step);
    }
    return new Axis(0, marks.getLast(), start, end, false, marks);
  }

  /** From a whole power of ten to another. */
  static Axis decades(double lowest, double highest, double start, double end) {
    int from = (int) Math.floor(Math.log10(lowest) + 1e-9);
    int to = Math.max(from + 1, (int) Math.ceil(Math.log10(highest) - 1e-9));
    List<Double> marks = new ArrayList<>();
    for (int exponent = from; exponent <= to; exponent++) {
      marks.add(Math.pow(10, exponent));
    }
    return new Axis(marks.getFirst(), marks.getLast(), start, end, true, marks);
  }

  /** Over sizes: a mark at powers of two, at most a dozen. */
  static Axis sizes(long smallest, long greatest, double start, double end) {
    int from = 63 - Long.numberOfLeadingZeros(smallest);
    int to = Math.max(from + 1, 64 - Long.numberOfLeadingZeros(greatest - 1));
    int step = Math.max(1, Math.ceilDiv(to - from, 10));
    List<Double> marks = new ArrayList<>();
    for (int exponent = from; exponent <= to; exponent += step) {
      marks.add(Math.pow(2, exponent));
    }
    return new Axis(Math.pow(2, from), Math.pow(2, to), start, end, true, marks);
  }

  double pixel(double value) {
    double share = logarithmic
        ? Math.log(value / low) / Math.log(high / low)
        : (value - low) / (high - low);
    return start + share * (end - start);
  }

  /** A short number: {@code 0.05}, {@code 2.5}, {@code 100}, {@code 10k}. */
  static String label(double value) {
    if (value >= 1e6) {
      return plain(value / 1e6) + "M";
    }
    return value >= 1e4 ? plain(value / 1e3) + "k" : plain(value);
  }

  private static String plain(double value) {
    String text = String.format(Locale.ROOT, "%.3f", value);
    return text.replaceAll("\\.?0+$", "");
  }
}
