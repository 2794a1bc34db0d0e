/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Percent-encoding in a path's segment. */
final class Percent {
  private Percent() {}

  static String decode(String segment) {
    if (segment.indexOf('%') < 0) {
      return segment;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(segment.length());
    for (int i = 0; i < segment.length(); i++) {
      char c = segment.charAt(i);
      if (c != '%') {
        bytes.write(c);
        continue;
      }
      int high = i + 2 < segment.length() ? Character.digit(segment.charAt(i + 1), 16) : -1;
      int low = i + 2 < segment.length() ? Character.digit(segment.charAt(i + 2), 16) : -1;
      if (high < 0 || low < 0) {
        throw Problem.badRequest("the path has a '%' that two hexadecimal digits do not follow").exception();
      }
      bytes.write(high << 4 | low);
      i += 2;
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
