/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.util.function.LongFunction;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Reads whole numbers. One that is too large for its type is told as that, and not as no number; what each option takes it
 * says itself.
 *
 * @param <T> the type
 */
final class WholeNumberConverter<T> implements ITypeConverter<T> {
  private static final Pattern NUMBER = Pattern.compile("[+-]?\\d+");

  private final long least;
  private final long most;
  private final LongFunction<T> boxed;

  private WholeNumberConverter(long least, long most, LongFunction<T> boxed) {
    this.least = least;
    this.most = most;
    this.boxed = boxed;
  }

  static WholeNumberConverter<Integer> ofInts() {
    return new WholeNumberConverter<>(Integer.MIN_VALUE, Integer.MAX_VALUE, value -> (int) value);
  }

  static WholeNumberConverter<Long> ofLongs() {
    return new WholeNumberConverter<>(Long.MIN_VALUE, Long.MAX_VALUE, value -> value);
  }

  @Override
  public T convert(String text) {
    String number = text.strip();
    if (!NUMBER.matcher(number).matches()) {
      throw new TypeConversionException("'" + text + "' is no whole number; write digits");
    }
    try {
      long value = Long.parseLong(number);
      if (value >= least && value <= most) {
        return boxed.apply(value);
      }
    } catch (NumberFormatException e) {
      throw outside(text);
    }
    throw outside(text);
  }

  private TypeConversionException outside(String text) {
    return new TypeConversionException(text.strip().startsWith("-")
        ? "'" + text + "' is too small; give at least " + least
        : "'" + text + "' is too large; give at most " + most);
  }
}
