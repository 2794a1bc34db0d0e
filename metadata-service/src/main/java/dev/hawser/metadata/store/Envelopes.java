/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.util.Locale;

/** The limits of an envelope's fields. Every method returns its argument or throws {@link InvalidEnvelopeException}. */
public final class Envelopes {
  /** Characters of an agent's name. */
  public static final int MAX_NAME = 128;

  /** Characters of a control address. */
  public static final int MAX_ADDRESS = 255;

  /** UTF-8 bytes of a summary. */
  public static final int MAX_SUMMARY = 4096;

  /** Shortest and longest time to live, milliseconds. */
  public static final long MIN_TTL_MILLIS = 100;

  public static final long MAX_TTL_MILLIS = 86_400_000;

  /** Where a publication does not say, milliseconds. */
  public static final long DEFAULT_TTL_MILLIS = 10_000;

  private Envelopes() {}

  public static String name(String name) {
    if (name.isEmpty() || name.length() > MAX_NAME) {
      throw new InvalidEnvelopeException(
          "name", "has " + name.length() + " characters; give it 1 to " + MAX_NAME + " characters");
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (!(isAlphanumeric(c) || (i > 0 && "._:@-".indexOf(c) >= 0))) {
        throw new InvalidEnvelopeException(
            "name",
            shown(name) + " has " + shown(c) + " at " + i
                + "; use letters, digits and . _ : @ - and begin with a letter or a digit");
      }
    }
    return name;
  }

  /** Zero is "no epoch" everywhere. */
  public static long epoch(long epoch) {
    if (epoch == 0) {
      throw new InvalidEnvelopeException("epoch", "is 0; an epoch is an unsigned 64-bit number greater than 0");
    }
    return epoch;
  }

  public static long ttlMillis(long ttlMillis) {
    if (ttlMillis < MIN_TTL_MILLIS || ttlMillis > MAX_TTL_MILLIS) {
      throw new InvalidEnvelopeException(
          "ttl_millis",
          "is " + Long.toUnsignedString(ttlMillis) + "; give " + MIN_TTL_MILLIS + " to " + MAX_TTL_MILLIS
              + " milliseconds");
    }
    return ttlMillis;
  }

  public static String address(String address) {
    if (address.length() > MAX_ADDRESS) {
      throw new InvalidEnvelopeException(
          "address", "has " + address.length() + " characters; at most " + MAX_ADDRESS + " are allowed");
    }
    for (int i = 0; i < address.length(); i++) {
      char c = address.charAt(i);
      if (c <= ' ' || c > '~') {
        throw new InvalidEnvelopeException(
            "address", "has " + shown(c) + " at " + i + "; use printable ASCII without spaces, as in 10.0.0.7:7301");
      }
    }
    return address;
  }

  /** Whether it is a letter or a digit of ASCII. */
  public static boolean isAlphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }

  /** A value as it may stand in a message or a log: bounded, and nothing that moves a terminal's cursor. */
  public static String shown(String value) {
    StringBuilder text = new StringBuilder("'");
    int end = Math.min(value.length(), 64);
    for (int i = 0; i < end; i++) {
      char c = value.charAt(i);
      text.append(c < ' ' || c > '~' ? '?' : c);
    }
    return text.append(end < value.length() ? "…'" : "'").toString();
  }

  private static String shown(char c) {
    return c > ' ' && c <= '~' ? "'" + c + "'" : String.format(Locale.ROOT, "U+%04X", (int) c);
  }
}
