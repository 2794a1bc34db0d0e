/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.Locale;

/** The direction of a transfer, seen from the initiator. */
public enum Op {
  /** The initiator's memory to the target's. */
  WRITE,
  /** The target's memory to the initiator's. */
  READ;

  /** As users and reports write it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
