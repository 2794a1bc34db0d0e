/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import dev.hawser.engine.text.Quoted;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Reads and writes the values of settings. Errors name the setting, its origin, and what a right value looks like. */
final class Values {
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final int MOST_DIGITS = 12;
  private static final long MOST_NUMBER = 999_999_999_999L;

  private Values() {}

  static List<String> list(String text) {
    List<String> items = new ArrayList<>();
    int start = 0;
    while (start <= text.length()) {
      int comma = text.indexOf(',', start);
      int end = comma < 0 ? text.length() : comma;
      String item = text.substring(start, end).strip();
      if (!item.isEmpty()) {
        items.add(item);
      }
      start = end + 1;
    }
    return List.copyOf(items);
  }

  static List<URI> urls(Setting setting, Origin origin, String text) {
    List<URI> urls = new ArrayList<>();
    for (String item : list(text)) {
      urls.add(url(setting, origin, item));
    }
    return List.copyOf(urls);
  }

  private static URI url(Setting setting, Origin origin, String item) {
    try {
      URI uri = new URI(item);
      String scheme = uri.getScheme();
      boolean http = scheme != null && (scheme.equals("http") || scheme.equals("https"));
      if (http && uri.getHost() != null && uri.getQuery() == null && uri.getUserInfo() == null) {
        return uri;
      }
    } catch (URISyntaxException e) {
      throw wrong(setting, origin, item, "write http://host:port (" + e.getMessage() + ")");
    }
    throw wrong(setting, origin, item, "write http://host:port or https://host:port");
  }

  static Map<String, String> pairs(Setting setting, Origin origin, String text) {
    Map<String, String> pairs = new LinkedHashMap<>();
    for (String item : list(text)) {
      int equals = item.indexOf('=');
      if (equals <= 0) {
        throw wrong(setting, origin, item, "write key=value,key=value");
      }
      String key = item.substring(0, equals).strip();
      if (pairs.put(key, item.substring(equals + 1).strip()) != null) {
        throw wrong(setting, origin, item, "the key " + Quoted.of(key) + " is there twice; keep one");
      }
    }
    return pairs;
  }

  static int integer(Setting setting, Origin origin, String text, int least, int most) {
    try {
      int value = Integer.parseInt(text);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      throw wrong(setting, origin, text, "write a whole number from " + least + " to " + most);
    }
    throw wrong(setting, origin, text, "write a whole number from " + least + " to " + most);
  }

  static boolean bool(Setting setting, Origin origin, String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true", "1", "yes", "on", "y" -> true;
      case "false", "0", "no", "off", "n", "" -> false;
      default -> throw wrong(setting, origin, text, "write true or false");
    };
  }

  static Duration duration(Setting setting, Origin origin, String text, Duration least, Duration most) {
    int digits = 0;
    while (digits < text.length() && text.charAt(digits) >= '0' && text.charAt(digits) <= '9') {
      digits++;
    }
    if (digits > 0) {
      // So many hours still fit, and are more than any setting takes.
      long number = digits > MOST_DIGITS ? MOST_NUMBER : Long.parseLong(text.substring(0, digits));
      Duration value = switch (text.substring(digits).strip()) {
        case "us" -> Duration.ofNanos(number * 1_000);
        case "ms" -> Duration.ofMillis(number);
        case "s" -> Duration.ofSeconds(number);
        case "m" -> Duration.ofMinutes(number);
        case "h" -> Duration.ofHours(number);
        default -> Duration.ZERO.minusNanos(1);
      };
      if (!value.isNegative()) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
          throw wrong(setting, origin, text, "give " + text(least) + " to " + text(most));
        }
        return value;
      }
    }
    throw wrong(setting, origin, text, "write a number and its unit, us, ms, s, m or h: 500ms");
  }

  /** A duration as a setting is written. */
  static String text(Duration value) {
    long nanos = value.getNano();
    if (nanos % NANOS_PER_MILLI != 0) {
      return value.toNanos() / 1_000 + "us";
    }
    if (nanos != 0) {
      return value.toMillis() + "ms";
    }
    long seconds = value.getSeconds();
    if (seconds != 0 && seconds % 3_600 == 0) {
      return seconds / 3_600 + "h";
    }
    return seconds != 0 && seconds % 60 == 0 ? seconds / 60 + "m" : seconds + "s";
  }

  static ConfigException wrong(Setting setting, Origin origin, String value, String cure) {
    String shown = setting.kind() == Setting.Kind.SECRET ? "(hidden)" : Quoted.of(value);
    return new ConfigException(setting.key(),
        setting.key() + ": " + shown + " is wrong (from " + origin + "); " + cure + "; meaning: " + setting.meaning());
  }
}
