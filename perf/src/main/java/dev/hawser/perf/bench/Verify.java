/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Locale;

/** How much of what arrived is compared with what was sent. */
public enum Verify {
  /** Every byte of every request. */
  FULL,
  /** The first and the last bytes, and a share of the blocks, after the last request. */
  SAMPLE,
  /** Nothing. */
  NONE;

  /** As users and reports write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
