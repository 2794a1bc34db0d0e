/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as people write them: {@code 4K}, {@code 64M}, powers of 1024. */
public final class ByteSize {
  private static final Pattern SIZE = Pattern.compile("(\\d+)([KMGT]?)(?:I?B)?", Pattern.CASE_INSENSITIVE);
  private static final Pattern STEP = Pattern.compile("x(\\d{1,9})", Pattern.CASE_INSENSITIVE);
  private static final String UNITS = "KMGT";

  private ByteSize() {}

  /**
   * Reads one size, in bytes.
   *
   * @throws IllegalArgumentException with a message that says what would be right
   */
  public static long parse(String text) {
    Matcher matcher = SIZE.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a size; write bytes or a power of 1024 such as 4K, 64M or 1G");
    }
    String unit = matcher.group(2).toUpperCase(Locale.ROOT);
    int shift = unit.isEmpty() ? 0 : 10 * (UNITS.indexOf(unit.charAt(0)) + 1);
    try {
      return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
    } catch (ArithmeticException | NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is more than 2^63 bytes", e);
    }
  }

  /**
   * Reads sizes and ranges, separated by commas: {@code 8,4K:64M:x4,1G}. A range without a step doubles. Each size
   * appears once, in the order in which it was named.
   *
   * @throws IllegalArgumentException with a message that says what would be right
   */
  public static List<Long> parseList(String text) {
    Set<Long> sizes = new LinkedHashSet<>();
    for (String item : text.split(",", -1)) {
      String[] parts = item.split(":", -1);
      if (parts.length > 3) {
        throw new IllegalArgumentException("'" + item + "' is not a range; write FROM:TO or FROM:TO:xN, as 4K:64M:x4");
      }
      long from = positive(parts[0]);
      long to = parts.length == 1 ? from : positive(parts[1]);
      if (to < from) {
        throw new IllegalArgumentException("the range '" + item + "' ends before it begins");
      }
      int factor = parts.length < 3 ? 2 : factor(parts[2], item);
      for (long size = from; size <= to; size *= factor) {
        sizes.add(size);
        if (size > Long.MAX_VALUE / factor) {
          break;
        }
      }
    }
    return new ArrayList<>(sizes);
  }

  private static long positive(String text) {
    long size = parse(text);
    if (size == 0) {
      throw new IllegalArgumentException("a size of 0 bytes moves nothing; begin at 1");
    }
    return size;
  }

  private static int factor(String step, String item) {
    Matcher matcher = STEP.matcher(step);
    if (!matcher.matches() || Integer.parseInt(matcher.group(1)) < 2) {
      throw new IllegalArgumentException(
          "the step '" + step + "' of '" + item + "' is not a factor; write x2, x4 or x10");
    }
    return Integer.parseInt(matcher.group(1));
  }

  /** The shortest exact way to write a size: {@code 64K}, {@code 1M}, {@code 4097}. */
  public static String format(long bytes) {
    if (bytes == 0) {
      return "0";
    }
    int unit = Math.min(Long.numberOfTrailingZeros(bytes) / 10, UNITS.length());
    return unit == 0 ? Long.toString(bytes) : (bytes >> (10 * unit)) + UNITS.substring(unit - 1, unit);
  }
}
