/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads {@code 500ms}, {@code 10s}, {@code 2m}; a bare number counts seconds. */
final class DurationConverter implements ITypeConverter<Duration> {
  private static final Pattern DURATION = Pattern.compile("(\\d+(?:\\.\\d+)?)(us|ms|s|m|h)?");

  @Override
  public Duration convert(String text) {
    Matcher matcher = DURATION.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new TypeConversionException("'" + text + "' is not a time; write 500ms, 10s or 2m");
    }
    String unit = matcher.group(2) == null ? "s" : matcher.group(2);
    double nanos = switch (unit) {
      case "us" -> 1e3;
      case "ms" -> 1e6;
      case "s" -> 1e9;
      case "m" -> 60e9;
      default -> 3600e9;
    };
    // What is more than a long has becomes the most that one has: each option says what it takes.
    return Duration.ofNanos(Math.round(Double.parseDouble(matcher.group(1)) * nanos));
  }
}
