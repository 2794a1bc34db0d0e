/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Where the bytes lie. */
public enum MemoryKind {
  /** Host memory that the registry allocated: peers on the same host can map it. */
  HOST,
  /** Host memory that the application allocated itself and registered: it cannot be mapped. */
  MALLOC;

  /** As users and reports write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Reads what {@link #text} writes.
   *
   * @throws IllegalArgumentException with a message that says what there is
   */
  public static MemoryKind parse(String text) {
    return Arrays.stream(values()).filter(kind -> kind.text().equals(text)).findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("'" + text + "' is no memory that this build can measure; it can "
                + Arrays.stream(values()).map(MemoryKind::text).collect(Collectors.joining(" and "))));
  }
}
